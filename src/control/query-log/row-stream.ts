import { LIMITS } from '../../base/limits.ts';
import type { Actor } from '../../http/actor.ts';
import type { EventOutput } from '../../http/streams.ts';
import type { NewRow } from '../../store/query-log/new-rows.ts';
import { isShown } from './list.ts';
import type { RowFilter } from './listing-query.ts';
import { queryLogResource } from './row.ts';
import { rowEvent, skippedEvent } from './stream-events.ts';

/**
 * The events of one client. Rows above the rate, and rows for which the client is too slow, are not kept but counted; the count is an
 * event. So a stream holds no more than what its output holds.
 */
export class RowStream {
  readonly #actor: Actor;
  readonly #filter: RowFilter;
  readonly #output: EventOutput;
  #sent = 0;
  #skipped = 0;

  constructor(actor: Actor, filter: RowFilter, output: EventOutput) {
    this.#actor = actor;
    this.#filter = filter;
    this.#output = output;
  }

  /** Rows of the actor's customer. */
  offer(rows: readonly NewRow[]): void {
    for (const row of rows) {
      if (!isShown(this.#actor, this.#filter, row)) continue;
      if (this.#sent >= LIMITS.queryLogStreamRows || !this.#output.isReady()) {
        this.#skipped++;
        continue;
      }
      this.#sent++;
      this.#output.write(rowEvent(queryLogResource(row, row)));
    }
  }

  /** Counts rows that are not sent. */
  skip(rows: readonly NewRow[]): void {
    this.#skipped += rows.filter((row) => isShown(this.#actor, this.#filter, row)).length;
  }

  /** Tells that older rows exist which the stream does not send, and that their number is not known. */
  tellGap(): void {
    this.#output.write(skippedEvent(null));
  }

  /** Call it once a second while the client reads. */
  tick(isHeartbeat: boolean): void {
    if (this.#skipped > 0) this.#output.write(skippedEvent(this.#skipped));
    this.#skipped = 0;
    if (isHeartbeat) this.#output.write(': keep-alive\n\n');
    this.#sent = 0;
  }
}
