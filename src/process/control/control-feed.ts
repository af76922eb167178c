/** The control side's end of the feed: it publishes the log, and answers the nodes. */

import { dirname, join } from 'node:path';
import { closeAll } from '../../base/lifecycle/close.ts';
import { createReportLimits } from '../../base/lifecycle/report-limits.ts';
import { backgroundTimers, pause } from '../../base/lifecycle/timers.ts';
import type { Clock } from '../../base/time.ts';
import { withNodeBudgets } from '../../feed/bus/node-budgets.ts';
import { controlIdentity } from '../../feed/message/rpc.ts';
import { type WatchedNodes, watchNodes } from '../../feed/nodes/nodes.ts';
import { answerDemands } from '../../feed/nodes/operator.ts';
import { CredentialsError, type FeedCredentials, printCredentials } from '../../feed/ports/credentials.ts';
import type { LeaderLock } from '../../feed/ports/feed-store.ts';
import type { NodeKeys } from '../../feed/ports/node-keys.ts';
import { type PublisherEvent, processLock } from '../../feed/publish/publisher.ts';
import { startSnapshotChild } from '../../feed/snapshots/child-process.ts';
import { type Config, ConfigError } from '../../ops/config/config.ts';
import type { Secret } from '../../ops/config/data-dir.ts';
import type { FeedSettings } from '../../ops/config/feed-settings.ts';
import type { Log } from '../../ops/telemetry/log.ts';
import type { Metrics } from '../../ops/telemetry/metrics.ts';
import { mapFile } from '../../services/exchanges.ts';
import { GEOIP_FILE } from '../../services/geoip-files.ts';
import type { ProviderClient } from '../../services/providers/client.ts';
import type { Store } from '../../store/store.ts';
import { openFeedBus, verifierOf } from '../feed-bus.ts';
import { reportRefusals } from '../refusal-reports.ts';
import { removeSnapshotFiles, snapshotsIn } from '../unused-views.ts';
import { type ControlFeed, type ControlSnapshots, type SnapshotParts, startFeedWork } from './feed-work.ts';

/** Snapshots on the control side: the child process that makes them, and who may ask for one. */

interface ControlSnapshotsOptions extends SnapshotParts {
  readonly feed: { readonly credentials: FeedCredentials; readonly servers: readonly string[] };
  readonly dataDir: string;
  /** Instead of the file that `uqrp geoip update` writes. */
  readonly geoipDb: string | null;
  readonly clock: Clock;
  readonly log: Log;
}

function startControlSnapshots(options: ControlSnapshotsOptions): ControlSnapshots {
  const { feed, dataDir, geoipDb, operator, keys, isLeading, clock, log } = options;
  const isDue = createReportLimits<'failing'>(clock);
  const directory = snapshotsIn(dataDir);
  const child = startSnapshotChild({
    entry: new URL('../snapshot-process.ts', import.meta.url),
    start: {
      credentials: printCredentials(feed.credentials),
      servers: feed.servers,
      directory,
      geoip: geoipDb ?? join(dataDir, GEOIP_FILE),
      stockMap: mapFile(dataDir),
    },
    keys,
    isLeading,
    removeFiles: () => removeSnapshotFiles(directory),
    onMade: ({ seq, partOctets }, seconds) =>
      log.event('feed.snapshot', { seq, octets: partOctets, seconds }),
    onFailing(error) {
      if (isDue('failing')) log.event('feed.snapshot_failing', {}, error);
    },
  });
  const demands = answerDemands({
    end: operator,
    isLeading,
    make: async () => (await child.make()).seq,
  });
  return {
    age() {
      const last = child.last();
      return last === null ? null : Math.max(0, clock() - last.at) / 1000;
    },
    stop: () => closeAll([() => demands.stop(), () => child.stop()]),
  };
}

export interface ControlFeedOptions {
  readonly feed: Extract<FeedSettings, { readonly end: 'control' }>;
  readonly store: Store;
  /** Of the store; null: SQLite. */
  readonly databaseUrl: string | null;
  readonly secret: Secret;
  readonly config: Pick<Config, 'dataDir' | 'geoipDb'>;
  /** What nodes get of signing keys, cookie and ticket secrets. */
  readonly nodeKeys: NodeKeys;
  readonly clock: Clock;
  readonly log: Log;
  readonly metrics: Pick<Metrics, 'feed'>;
  /** Calls providers for all nodes. */
  readonly providers: ProviderClient;
}

/** A start waits this long for the broker. */
const CONNECT_MS = 1_000;

/** Returns although the broker is away: REST does not need it. */
export async function openControlFeed(options: ControlFeedOptions): Promise<ControlFeed> {
  const { feed, databaseUrl, clock, log } = options;
  const report = reportPublisher(options);
  const nodes = openNodes(feed.file, log);
  const { bus: unbounded, attempted } = await openFeedBus(options);
  const isFloodDue = createReportLimits<string>(clock);
  const bus = withNodeBudgets(unbounded, {
    clock,
    onDropped(node) {
      options.metrics.feed.dropped(node);
      if (isFloodDue(node)) log.event('feed.node_flooding', { node });
    },
  });
  const isDue = createReportLimits<'exchange'>(clock);
  // So that the publisher's first look at the stream does not fail.
  const connected = Promise.race([attempted, pause(backgroundTimers, CONNECT_MS)]);
  const work = await startFeedWork({
    ...options,
    bus,
    nodes,
    lock: await lockOf(databaseUrl),
    identity: controlIdentity(feed.credentials.sign),
    verifier: verifierOf(feed),
    connected,
    onRefused: reportRefusals(log, options.metrics.feed, clock),
    onExchangeFailed(error) {
      if (isDue('exchange')) log.event('feed.exchange_failing', {}, error);
    },
    onEvent: report,
    onLeftOut: (answers) => options.metrics.feed.leftOut(answers),
    openSnapshots: (parts) => startControlSnapshots({ ...options.config, ...parts, feed, clock, log }),
  });
  return {
    ...work,
    stop: () => closeAll([() => work.stop(), () => nodes.stop(), () => bus.close()]),
  };
}

/** `nodes.json` stands beside the credentials of control. @throws ConfigError when it cannot be used */
function openNodes(credentialsFile: string, log: Log): WatchedNodes {
  try {
    return watchNodes({
      path: join(dirname(credentialsFile), 'nodes.json'),
      onDamaged: (error) => log.event('feed.nodes_failing', {}, error),
    });
  } catch (error) {
    if (error instanceof CredentialsError) throw new ConfigError([`UQRP_FEED_CREDENTIALS: ${error.message}`]);
    throw error;
  }
}

function reportPublisher({
  log,
  metrics,
  clock,
}: ControlFeedOptions): (event: PublisherEvent, error?: unknown) => void {
  const isDue = createReportLimits<PublisherEvent>(clock);
  return (event, error) => {
    if (event === 'conflict') metrics.feed.conflicted();
    if (event === 'leading' || event === 'stepped_back') log.event('feed.publishing', { state: event });
    else if (isDue(event)) log.event('feed.publisher_failing', { reason: event }, error);
  };
}

async function lockOf(databaseUrl: string | null): Promise<LeaderLock> {
  if (databaseUrl === null) return processLock();
  const { postgresLeaderLock } = await import('../../store/postgres/leader-lock.ts');
  return postgresLeaderLock(databaseUrl);
}
