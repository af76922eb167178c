/** What an edge node gets over the feed. It opens no store: everything comes signed and encrypted through the broker. */

import { createPrivateKey } from 'node:crypto';
import { join } from 'node:path';
import { realRandom } from '../../base/chance.ts';
import { closeAll } from '../../base/lifecycle/close.ts';
import { createReportLimits } from '../../base/lifecycle/report-limits.ts';
import { backgroundTimers, pause } from '../../base/lifecycle/timers.ts';
import type { Clock } from '../../base/time.ts';
import type { Bus } from '../../feed/bus/bus.ts';
import { type NodeKeyring, openNodeKeyring, openNodeSecrets } from '../../feed/keys/node-keys.ts';
import { secretsCopy } from '../../feed/keys/secrets.ts';
import type { FeedKeyRing, FeedVerifier } from '../../feed/message/keys.ts';
import { createRpc, type Rpc } from '../../feed/message/rpc.ts';
import { busQueryLogSink, busUsageSink } from '../../feed/nodes/meter.ts';
import { type NodeState, startStateReports } from '../../feed/nodes/node-states.ts';
import { providerAsks } from '../../feed/nodes/provider-asks.ts';
import type { ChangeSource, ViewSource } from '../../feed/ports/change-source.ts';
import type { FeedRefusal } from '../../feed/ports/refusal.ts';
import { openBusSource } from '../../feed/receive/bus-source.ts';
import { diskFiles, sharedFile, startTakingFiles } from '../../feed/snapshots/shared-files.ts';
import { createSnapshotReader, snapshotSource } from '../../feed/snapshots/snapshot-reader.ts';
import type { Config } from '../../ops/config/config.ts';
import { deriveKey, type Secret } from '../../ops/config/data-dir.ts';
import type { FeedSettings } from '../../ops/config/feed-settings.ts';
import { programVersion } from '../../ops/config/version.ts';
import type { FeedNow } from '../../ops/telemetry/feed-metrics.ts';
import type { Log } from '../../ops/telemetry/log.ts';
import type { Metrics } from '../../ops/telemetry/metrics.ts';
import { mapFile } from '../../services/exchanges.ts';
import { GEOIP_FILE } from '../../services/geoip-files.ts';
import { type OpenProviders, openRemoteProviders } from '../../services/providers/open.ts';
import { FILE_FORMAT } from '../../view/lmdb/tree.ts';
import type { AccountingSinks, EdgeUpstream } from '../edge-upstream.ts';
import { openFeedBus, verifierOf } from '../feed-bus.ts';
import { reportRefusals } from '../refusal-reports.ts';

/** Snapshots at a node: a source whose snapshots are files, and the files that control keeps for its nodes. */

interface EdgeSnapshotsOptions {
  readonly source: ChangeSource;
  readonly bus: Bus;
  readonly verifier: FeedVerifier;
  readonly keys: () => FeedKeyRing;
  /** Resolves when there are keys. */
  readonly ready: Promise<void>;
  readonly dataDir: string;
  readonly clock: Clock;
  readonly log: Log;
  readonly onRefused: (reason: FeedRefusal) => void;
}

interface EdgeSnapshots {
  readonly source: ViewSource;
  stop(): Promise<void>;
}

function openEdgeSnapshots(options: EdgeSnapshotsOptions): EdgeSnapshots {
  const { source, bus, verifier, keys, ready, dataDir, clock, log, onRefused } = options;
  const files = diskFiles(join(dataDir, 'incoming'));
  const reader = createSnapshotReader({ bus, verifier, keys, files, onRefused });
  const isDue = createReportLimits<'files'>(clock);
  const taking = startTakingFiles({
    reader,
    ready,
    files: [sharedFile('geoip', join(dataDir, GEOIP_FILE)), sharedFile('stock-map', mapFile(dataDir))],
    onError(error) {
      if (isDue('files')) log.event('feed.file_failing', {}, error);
    },
  });
  return {
    source: snapshotSource({
      source,
      reader,
      format: FILE_FORMAT,
      clock,
      onRefused,
      onDownloaded: ({ seq, partOctets }) => log.event('feed.downloaded', { seq, octets: partOctets }),
    }),
    stop: () => taking.stop(),
  };
}

/** Encrypts what the node keeps on its disk. */
const COPY_KEY = { label: 'node-secrets', octets: 32 } as const;

type NodeFeed = Extract<FeedSettings, { readonly end: 'node' }>;

export interface EdgeFeedOptions {
  readonly feed: NodeFeed;
  readonly config: Pick<Config, 'sync' | 'dataDir' | 'acceptNewStore'>;
  /** How the edge is; null before it has opened its view. */
  readonly report: () => EdgeReport | null;
  readonly clock: Clock;
  readonly log: Log;
  readonly metrics: Pick<Metrics, 'feed'>;
}

export interface EdgeFeed {
  readonly upstream: EdgeUpstream;
  now(): FeedNow;
  stop(): Promise<void>;
}

/** A start waits this long for the broker and the keys of the hour, so that its first questions do not fail. */
const CONNECT_MS = 1_000;

/** Returns although the broker is away: a node serves from its view meanwhile. */
export async function openEdgeFeed(options: EdgeFeedOptions): Promise<EdgeFeed> {
  const { feed, config, clock, log, metrics } = options;
  const { bus, nkey, attempted } = await openFeedBus(options);
  const verifier = verifierOf(feed);
  const onRefused = reportRefusals(log, metrics.feed, clock);
  const own = { node: feed.credentials.name, privateKey: createPrivateKey(feed.credentials.decrypt) };
  const rpc = createRpc({
    bus,
    name: own.node,
    signing: { signer: nkey.signer, random: realRandom },
    verifier,
    presentKey: () => keyring.present(),
    ring: () => keyring.ring(),
    clock,
    onRefused,
  });
  const keyring = openNodeKeyring({ bus, rpc, verifier, own, onRefused });
  const secrets = openNodeSecrets({
    bus,
    rpc,
    verifier,
    own,
    copy: secretsCopy({
      path: join(config.dataDir, 'node-secrets'),
      node: own.node,
      key: deriveKey(secretOf(feed), COPY_KEY.label, COPY_KEY.octets),
      random: realRandom,
    }),
    acceptNewStore: config.acceptNewStore,
    onRefused,
    onCopyFailed: (error) => log.event('keys.copy_failing', {}, error),
  });
  const source = openBusSource({
    bus,
    rpc,
    verifier,
    keys: () => keyring.ring(),
    clock,
    onRefused,
    onRepair: (from, changes) => metrics.feed.repaired(from, changes),
  });
  const snapshots = openEdgeSnapshots({
    source,
    bus,
    verifier,
    keys: () => keyring.ring(),
    ready: keyring.ready,
    dataDir: config.dataDir,
    clock,
    log,
    onRefused,
  });
  const heartbeatSeconds = (): number | null => {
    const heardAt = source.heardAt();
    return heardAt === null ? null : Math.max(0, clock() - heardAt) / 1000;
  };
  const exchange = await openEdgeExchange({
    ...options,
    bus,
    rpc,
    keyring,
    heartbeatSeconds,
  });
  const connected = attempted.then(() => (bus.state() === 'connected' ? keyring.ready : undefined));
  await Promise.race([connected, pause(backgroundTimers, CONNECT_MS)]);
  return {
    upstream: {
      source: config.sync ? snapshots.source : null,
      nodeKeys: secrets,
      providers: exchange.providers.client,
      accounting: exchange.accounting,
      moved: () => exchange.moved(),
    },
    now() {
      return {
        isConnected: bus.state() === 'connected',
        node: { heartbeatSeconds: heartbeatSeconds() },
        control: null,
      };
    },
    stop: () =>
      closeAll([
        () => exchange.stop(),
        () => exchange.providers.stop(),
        () => snapshots.stop(),
        () => source.close(),
        () => secrets.stop(),
        () => keyring.stop(),
        () => bus.close(),
      ]),
  };
}

/** The private key of the credentials. What the node keeps on its disk is encrypted under keys derived from it. */
function secretOf({ credentials }: NodeFeed): Secret {
  return createPrivateKey(credentials.decrypt).export({ format: 'der', type: 'pkcs8' });
}

/** What an edge sends to control: counts and rows, questions for provider data, and how it is. */

/** What the edge role knows of itself. */
export type EdgeReport = Pick<
  NodeState,
  'seq' | 'seqSeconds' | 'epoch' | 'lag' | 'stale' | 'keyTags' | 'readyTags' | 'viewSeconds' | 'spoolOctets'
>;

export interface EdgeExchangeOptions {
  readonly config: Pick<Config, 'dataDir'>;
  readonly bus: Bus;
  readonly rpc: Rpc;
  readonly keyring: Pick<NodeKeyring, 'onKeys'>;
  readonly heartbeatSeconds: () => number | null;
  /** Null before the edge has opened its view. */
  readonly report: () => EdgeReport | null;
  readonly clock: Clock;
  readonly log: Log;
}

export interface EdgeExchange {
  readonly accounting: AccountingSinks;
  readonly providers: OpenProviders;
  /** The view has got changes: control is told soon. */
  moved(): void;
  stop(): Promise<void>;
}

const BOOT_OCTETS = 8;
const NOTHING: EdgeReport = {
  seq: 0,
  seqSeconds: null,
  epoch: null,
  lag: { changes: 0, seconds: 0 },
  stale: true,
  keyTags: {},
  readyTags: {},
  viewSeconds: null,
  spoolOctets: 0,
};

export async function openEdgeExchange(options: EdgeExchangeOptions): Promise<EdgeExchange> {
  const { config, bus, rpc, keyring, clock, log } = options;
  const boot = Buffer.from(realRandom(BOOT_OCTETS)).toString('hex');
  const version = programVersion();
  const isDue = createReportLimits<'exchange'>(clock);
  const reports = startStateReports({
    bus,
    rpc,
    state: () => ({
      boot,
      version,
      heartbeatSeconds: options.heartbeatSeconds(),
      ...(options.report() ?? NOTHING),
    }),
    onKeys: (listener) => keyring.onKeys(listener),
    onError: (error) => {
      if (isDue('exchange')) log.event('feed.exchange_failing', {}, error);
    },
  });
  return {
    accounting: { usage: busUsageSink(rpc), queryLog: busQueryLogSink(rpc) },
    providers: await openRemoteProviders({ ask: providerAsks(rpc), clock, dataDir: config.dataDir }),
    moved: () => reports.moved(),
    stop: () => reports.stop(),
  };
}
