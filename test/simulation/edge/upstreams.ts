/** What an edge gets from control, and sends it: over the feed, or from the store, where both are one process. */
import { busQueryLogSink, busUsageSink } from '../../../src/feed/nodes/meter.ts';
import { type NodeState, startStateReports } from '../../../src/feed/nodes/node-states.ts';
import type { ViewSource } from '../../../src/feed/ports/change-source.ts';
import type { QueryLogSink } from '../../../src/feed/ports/query-log.ts';
import type { FeedRefusal } from '../../../src/feed/ports/refusal.ts';
import type { UsageSink } from '../../../src/feed/ports/usage-sink.ts';
import { openBusSource } from '../../../src/feed/receive/bus-source.ts';
import { createSnapshotReader, snapshotSource } from '../../../src/feed/snapshots/snapshot-reader.ts';
import { queryLogSink } from '../../../src/store/query-log/add-rows.ts';
import type { Store } from '../../../src/store/store.ts';
import { usageSink } from '../../../src/store/usage.ts';
import { memorySnapshotFiles } from '../../support/feed/snapshots/memory-files.ts';
import { FORMAT } from '../../support/feed/snapshots/snapshot-world.ts';
import type { Common, ProcessPorts } from '../common.ts';
import { nodeKeyring, nodeRpc, recipientOf } from '../feed-secrets.ts';
import { type NodeSigning, openNodeSigning } from './node-secrets.ts';

export interface Upstream {
  readonly source: ViewSource;
  /** Downloaded files by their paths: a view may adopt them. */
  readonly files: Map<string, Uint8Array>;
  readonly heardAt: () => number | null;
  readonly usage: UsageSink;
  readonly queryLog: QueryLogSink;
  /** Begins to tell control how the node is. @returns to be called when its view has moved */
  report(state: () => Omit<NodeState, 'heartbeatSeconds'>): () => void;
  /** Gets the keys of the zone. */
  sign(use: Parameters<typeof openNodeSigning>[0]['use']): NodeSigning;
}

export function overFeed(ports: ProcessPorts, common: Common): Upstream {
  const { verifier, counters } = common;
  const { bus, clock, timers, name } = ports;
  const rpc = nodeRpc(ports, () => keys, common);
  const keys = nodeKeyring(ports, rpc, verifier);
  const files = memorySnapshotFiles();
  const onRefused = (reason: FeedRefusal): void => counters.count(`refused ${reason}`);
  const ring = () => keys.ring();
  const source = openBusSource({
    bus,
    rpc,
    verifier,
    keys: ring,
    clock,
    timers,
    onRefused,
    onRepair: (from) => counters.count(`repair from ${from}`),
  });
  return {
    source: snapshotSource({
      source,
      reader: createSnapshotReader({ bus, verifier, keys: ring, files, onRefused }),
      format: FORMAT,
      clock,
      onRefused,
      onDownloaded: () => counters.count('snapshot downloaded'),
    }),
    files: files.whole,
    heardAt: () => source.heardAt(),
    usage: busUsageSink(rpc),
    queryLog: busQueryLogSink(rpc),
    report(state) {
      const reports = startStateReports({
        bus,
        rpc,
        state: () => ({ ...state(), heartbeatSeconds: null }),
        onKeys: (listener) => keys.onKeys(listener),
        onError: () => counters.count('state not told'),
        timers,
        soon: timers,
      });
      return () => reports.moved();
    },
    sign: (use) => openNodeSigning({ ports, rpc, verifier, own: recipientOf(name), use }),
  };
}

/** Its answers are not signed: how control makes the keys of the zone the nodes show. */
export function overStore(store: Store, { clock }: ProcessPorts): Upstream {
  return {
    source: store.changes,
    files: new Map(),
    heardAt: () => store.changes.heardAt(),
    usage: usageSink(store, clock),
    queryLog: queryLogSink(store, clock),
    report: () => () => {},
    sign() {
      throw new Error('an edge over the store has no keys');
    },
  };
}
