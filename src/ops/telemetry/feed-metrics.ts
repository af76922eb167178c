import { Counter, Gauge, type Registry } from 'prom-client';
import { FEED_REFUSALS, type FeedRefusal } from '../../feed/ports/refusal.ts';
import type { FeedRepair } from './vocabulary.ts';

/** What a process with a feed knows of it now. */
export interface FeedNow {
  readonly isConnected: boolean;
  /** Null on control. */
  readonly node: {
    /** Seconds since the last proof of where the log ends; null before the first one. */
    readonly heartbeatSeconds: number | null;
  } | null;
  /** Null on a node. */
  readonly control: {
    /** Last change that this process sent; null while another process publishes. */
    readonly published: number | null;
    readonly unconfirmed: number;
    /** Since this process made the last snapshot; null: it makes none. */
    readonly snapshotSeconds: number | null;
    /** Nodes without a state for 15 seconds. */
    readonly late: number;
  } | null;
}

/** How far the view is behind. `seconds`: age of the oldest change that it lacks; while it is stale, since when it is. */
export interface FeedLag {
  readonly seq: number;
  readonly seconds: number;
  readonly isStale: boolean;
}

export interface FeedSources {
  /** Null: no follower. */
  readonly lag: () => FeedLag | null;
  /** Null: no feed over a broker. */
  readonly feed: () => FeedNow | null;
}

export interface FeedMetrics {
  /** Changes that the follower applied to the view. */
  applied(changes: number): void;
  /** A message that was not used. */
  refused(reason: FeedRefusal): void;
  /** A message of a node was dropped, because the node sent too much. */
  dropped(node: string): void;
  /** Changes that did not come live. */
  repaired(from: FeedRepair, changes: number): void;
  /** Another publisher had written the stream. */
  conflicted(): void;
  /** Answers that a node counted for no namespace, or for an hour that is none of the present. */
  leftOut(answers: number): void;
}

export function registerFeedMetrics(registry: Registry, { lag, feed }: FeedSources): FeedMetrics {
  const gauge = (name: string, help: string, read: () => number | null): void => {
    new Gauge({
      registers: [registry],
      name,
      help,
      collect() {
        const now = read();
        if (now === null) this.remove();
        else this.set(now);
      },
    });
  };
  const counter = (name: string, help: string, labelNames: string[] = []): Counter =>
    new Counter({ registers: [registry], name, help, labelNames });

  gauge('uqrp_feed_lag_changes', 'Changes that the edge view is behind', () => lag()?.seq ?? null);
  gauge(
    'uqrp_feed_lag_seconds',
    'Age of the oldest change that the edge view lacks',
    () => lag()?.seconds ?? null,
  );
  gauge('uqrp_feed_stale_seconds', 'Time since the edge view was current; 0 while it follows', () => {
    const now = lag();
    return now === null ? null : now.isStale ? now.seconds : 0;
  });
  gauge('uqrp_feed_connected', '1 while there is a connection to a broker', () => {
    const now = feed();
    return now === null ? null : Number(now.isConnected);
  });
  gauge(
    'uqrp_feed_heartbeat_seconds',
    'Time since the last verified heartbeat or answer of control',
    () => feed()?.node?.heartbeatSeconds ?? null,
  );
  gauge('uqrp_feed_leader', '1 in the process that publishes', () => {
    const control = feed()?.control ?? null;
    return control === null ? null : Number(control.published !== null);
  });
  gauge(
    'uqrp_feed_published_seq',
    'Last change that this process published',
    () => feed()?.control?.published ?? null,
  );
  gauge(
    'uqrp_feed_unconfirmed_batches',
    'Batches that were sent and that the stream has not confirmed',
    () => feed()?.control?.unconfirmed ?? null,
  );
  gauge(
    'uqrp_feed_snapshot_seconds',
    'Time since this process made a snapshot',
    () => feed()?.control?.snapshotSeconds ?? null,
  );
  gauge(
    'uqrp_feed_late_nodes',
    'Nodes that control has not heard of for 15 seconds',
    () => feed()?.control?.late ?? null,
  );
  const applied = counter('uqrp_feed_changes_applied_total', 'Changes applied to the edge view');
  const refused = new Counter({
    registers: [registry],
    name: 'uqrp_feed_refused_total',
    help: 'Messages of the feed that were not used',
    labelNames: ['reason'],
    // From 0: an alert on an increase would not see the first refusal otherwise.
    collect() {
      if (feed() !== null) for (const reason of FEED_REFUSALS) this.inc({ reason }, 0);
    },
  });
  const dropped = new Counter({
    registers: [registry],
    name: 'uqrp_feed_node_dropped_total',
    help: 'Messages that control dropped because the node sent more than its budget',
    labelNames: ['node'],
  });
  const repaired = counter(
    'uqrp_feed_repaired_changes_total',
    'Changes that did not come live and were read elsewhere',
    ['from'],
  );
  const conflicts = counter(
    'uqrp_feed_conflicts_total',
    'Times that this process stopped publishing because another one had written the stream',
  );
  const leftOut = counter(
    'uqrp_feed_answers_left_out_total',
    'Answers in batches of nodes that count for no namespace or no present hour',
  );
  return {
    applied: (changes) => applied.inc(changes),
    refused: (reason) => refused.inc({ reason }),
    dropped: (node) => dropped.inc({ node }),
    repaired: (from, changes) => repaired.inc({ from }, changes),
    conflicted: () => conflicts.inc(),
    leftOut: (answers) => leftOut.inc(answers),
  };
}
