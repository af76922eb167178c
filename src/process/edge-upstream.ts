/** What an edge gets from the control side, and sends back: in the same process, or over the feed. It never is a store. */

import type { ViewSource } from '../feed/ports/change-source.ts';
import type { NodeKeys } from '../feed/ports/node-keys.ts';
import type { QueryLogSink } from '../feed/ports/query-log.ts';
import type { UsageSink } from '../feed/ports/usage-sink.ts';
import type { ProviderClient } from '../services/providers/client.ts';

export interface EdgeUpstream {
  /** Null without synchronisation (UQRP_SYNC=off): the view stays empty. */
  readonly source: ViewSource | null;
  readonly nodeKeys: NodeKeys;
  /** Null: this process calls providers for itself alone. */
  readonly providers: ProviderClient | null;
  /** Null: nothing is counted. */
  readonly accounting: AccountingSinks | null;
  /** To be called when the view has got changes. Absent: nobody asks. */
  readonly moved?: () => void;
}

/** Where counts and rows go. */
export interface AccountingSinks {
  readonly usage: UsageSink;
  /** Null: rows are not kept. */
  readonly queryLog: QueryLogSink | null;
}
