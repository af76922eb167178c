/** The edge role of a process: the view, the follower that writes it, and the DNS workers that read it. */
import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import { makeSelfSigned } from './certificates/self-signed.ts';
import { type Config, ConfigError } from './config/config.ts';
import { loadTls } from './config/tls.ts';
import type { Clock } from './core/clock.ts';
import { type TlsFault, tlsFaultOf } from './core/network/tls-faults.ts';
import { createFreshness } from './edge/hosted/freshness.ts';
import { openLmdbWriter } from './edge/hosted/lmdb/writer.ts';
import { fileKeys } from './edge/node/file-keys.ts';
import { type FirstKeys, firstKeys, saveCopy } from './edge/node/first-keys.ts';
import { type KeyReading, type ReadKeys, watchKeys } from './edge/node/keys.ts';
import { startPool } from './edge/node/pool.ts';
import type { EdgePorts } from './edge/node/settings.ts';
import { keyCopy, sharedKeys } from './edge/node/shared-keys.ts';
import { geoipPaths, isDatabase } from './edge/services/geoip/files.ts';
import { loadPlaces } from './edge/services/places/table.ts';
import { openProviders } from './edge/services/providers/open.ts';
import { connectWorker } from './edge/services/providers/worker/connect-worker.ts';
import { createConnectionMemory, releaseConnections } from './edge/transport/connections/connection-table.ts';
import { createRateMemory } from './edge/transport/rate-limit/rate-table.ts';
import type { ChangeSource } from './feed/change-source.ts';
import { type Follower, startFollower } from './feed/follower.ts';
import type { NodeKeys } from './feed/node-keys.ts';
import { closeAll } from './lifecycle/close-all.ts';
import { every } from './lifecycle/every.ts';
import type { Log } from './telemetry/log.ts';
import type { Metrics } from './telemetry/metrics.ts';
import type { UnreadyReason } from './telemetry/vocabulary.ts';
import { refuseSecret } from './zone-keys/refuse-secret.ts';

export interface EdgeRole {
  readonly ports: EdgePorts;
  /** Resolves when the view holds everything that was committed before it was opened. */
  readonly caughtUp: Promise<void>;
  /** Resolves when the first attempt to catch up has ended, with or without success. */
  readonly attempted: Promise<void>;
  unready(): UnreadyReason[];
  lag(): { readonly seq: number; readonly seconds: number } | null;
  /** True while the view does not follow its source. */
  isStale(): boolean;
  /** Reads the certificate again; the current one stays when that fails. */
  reloadTls(): Promise<void>;
  /** End of the current certificate, milliseconds since the epoch. */
  certificateEnd(): number;
  stop(): Promise<void>;
}

export interface EdgeRoleOptions {
  readonly config: Config;
  /** Null without synchronisation (UQRP_SYNC=off): the view stays empty. */
  readonly source: ChangeSource | null;
  /** Null: signing keys come from files of the data directory. */
  readonly nodeKeys: NodeKeys | null;
  /** Encrypts signing keys. */
  readonly encryptionKey: Uint8Array;
  /** Called while the start waits for signing keys: without them answers would be unsigned. */
  readonly onKeysMissing: (isMissing: boolean) => void;
  /** Ends that wait. */
  readonly cancel: AbortSignal;
  /** Key of server cookies. */
  readonly cookieKey: Uint8Array;
  readonly stats: SharedArrayBuffer;
  readonly clock: Clock;
  readonly log: Log;
  readonly metrics: Pick<Metrics, 'applied' | 'providerCalled' | 'workerRestarted'>;
}

const DAY_MS = 86_400_000;
/** Days before its end from which the certificate is warned about, once a day. */
const WARN_DAYS = 14;
/** Lifetime of session ticket keys. After it, recorded sessions cannot be decrypted with stolen keys. */
const TICKET_KEYS_MS = DAY_MS / 2;
const TICKET_KEYS_OCTETS = 48;

/** Closed in reverse order. */
type Opened = (() => void | Promise<void>)[];

/** Resolves when the workers listen; the follower may still be catching up. */
export async function openEdgeRole(options: EdgeRoleOptions): Promise<EdgeRole> {
  const opened: Opened = [];
  const stop = (): Promise<void> => closeAll(opened.toReversed());
  try {
    return { ...(await open(options, opened)), stop };
  } catch (error) {
    // A port in use must end the process: otherwise it would follow a feed without serving.
    await stop().catch(() => {});
    throw error;
  }
}

async function open(options: EdgeRoleOptions, opened: Opened): Promise<Omit<EdgeRole, 'stop'>> {
  const { config, source, clock, log, metrics } = options;
  if (config.geoipDb !== null && !isDatabase(config.geoipDb)) {
    throw new ConfigError(['UQRP_GEOIP_DB must be a MaxMind DB file']);
  }
  const viewPath = join(config.dataDir, 'view');
  const freshness = createFreshness();
  const view = openLmdbWriter({
    path: viewPath,
    freshness,
    empty: source === null,
    onDiscarded: (reason) => log.event('view.discarded', { reason }),
  });
  opened.push(() => view.close());
  let follower: Follower | null = null;
  let restarts = 0;

  const readTls = () =>
    loadTls({ dataDir: config.dataDir, host: config.host, files: config.tls, clock, makeSelfSigned });
  const tls = readTls();
  let certificateEnd = tls.notAfter;
  const daysLeft = (): number => Math.floor((certificateEnd - clock()) / DAY_MS);
  const warnOfEnd = (): void => {
    if (daysLeft() < WARN_DAYS) log.event('tls.expiring', { days: daysLeft() });
  };
  log.event('tls.loaded', { origin: tls.origin, days: daysLeft() });
  warnOfEnd();
  const warning = every({ ms: DAY_MS, task: warnOfEnd, onError() {} });
  opened.push(() => warning.stop());

  if (source !== null) {
    follower = startFollower({
      source,
      view,
      clock,
      acceptNewStore: config.acceptNewStore,
      onApplied(changes) {
        for (const change of changes) freshness.bumpFor(change);
        metrics.applied(changes.length);
      },
      onState: (state, seq) => log.event('feed.state', { state, seq }),
      onFailing: (reason, seconds, error) => log.event('feed.failing', { reason, seconds }, error),
    });
    const following = follower;
    opened.push(() => following.stop());
  }

  const signingKeys = config.dnssec === 'off' ? null : await openKeys(options);
  const providers = await openProviders({
    endpoints: config.providers,
    ownBases: config.providers.own,
    resolvers: config.resolvers,
    agent: `uqrp (+https://${config.zones[0]}/)`,
    dataDir: config.dataDir,
    clock,
    onCall: metrics.providerCalled,
  });
  opened.push(() => providers.stop());
  const connections = createConnectionMemory(config.workers);
  const pool = await startPool({
    entry: new URL('./edge-worker.ts', import.meta.url),
    settings: {
      host: config.host,
      ports: { dns: config.dnsPort, dot: config.dotPort, doh: config.dohPort },
      tls: { cert: tls.cert, key: tls.key },
      ticketKeys: newTicketKeys(),
      zones: config.zones,
      nameServers: config.nameServers,
      signing: config.dnssec === 'split' ? 'split' : 'full',
      keys: signingKeys?.first.keys ?? [],
      nodeName: config.nodeName,
      sync: config.sync,
      demo: config.demo,
      btc: config.btc,
      geoip: geoipPaths(config.dataDir, config.geoipDb),
      places: loadPlaces(),
      viewPath,
      dataDir: config.dataDir,
      feeds: providers.client.offered,
      freshness: freshness.buffer,
      stats: options.stats,
      cookieKey: options.cookieKey,
      rate: config.dnsRate,
      udp: config.udp,
      http2: config.http2,
      rates: createRateMemory(),
      connections,
    },
    connect: () => connectWorker(providers.client),
    workers: config.workers,
    events: {
      died(worker) {
        releaseConnections(connections, worker);
        restarts++;
        metrics.workerRestarted();
        log.event('worker.exited', { worker, restarts });
      },
      startFailed: (worker, error) => log.event('worker.failing', { worker }, error),
      fault: (worker, transport) => log.event('listener.failing', { transport, worker }),
    },
  });
  opened.push(() => pool.stop());
  if (signingKeys !== null) {
    const watch = watchKeys({
      read: signingKeys.read,
      inUse: signingKeys.first.reading.mark,
      async onChanged(keys, reading) {
        await pool.change({ keys });
        signingKeys.keep(reading);
        log.event('keys.loaded', { zones: keys.length });
      },
      onError: (error) => log.event('keys.failing', {}, error),
    });
    opened.push(() => watch.stop());
  }
  const rotation = every({
    ms: TICKET_KEYS_MS,
    task: () => pool.change({ ticketKeys: newTicketKeys() }),
    onError: (error) => log.event('tls.failing', { reason: reasonOf(error) }, error),
  });
  opened.push(() => rotation.stop());
  log.event('udp.opened', { path: pool.udp });

  return {
    ports: pool.ports,
    caughtUp: follower?.ready ?? Promise.resolve(),
    attempted: follower?.attempted ?? Promise.resolve(),
    unready() {
      const reasons: UnreadyReason[] = [];
      // Without its source a node stays ready: old answers are better than none.
      if (follower !== null && !follower.hasView()) reasons.push('feed');
      if (pool.alive() === 0) reasons.push('workers');
      return reasons;
    },
    lag: () => follower?.lag() ?? null,
    certificateEnd: () => certificateEnd,
    isStale: () => follower?.isStale() ?? false,
    async reloadTls() {
      try {
        const next = readTls();
        await pool.change({ tls: { cert: next.cert, key: next.key } });
        certificateEnd = next.notAfter;
        log.event('tls.loaded', { origin: next.origin, days: daysLeft() });
        warnOfEnd();
      } catch (error) {
        log.event('tls.failing', { reason: reasonOf(error) }, error);
      }
    },
  };
}

interface SigningKeys {
  readonly read: ReadKeys;
  readonly first: FirstKeys;
  /** Records keys that came into use. */
  keep(reading: KeyReading): void;
}

async function openKeys(options: EdgeRoleOptions): Promise<SigningKeys> {
  const { config, nodeKeys, encryptionKey: key, log, onKeysMissing, cancel } = options;
  const { dataDir, zones } = config;
  const read = nodeKeys === null ? fileKeys(config) : sharedKeys({ source: nodeKeys, zones, key });
  if (config.role !== 'edge') {
    const reading = await read();
    return { read, first: { reading, keys: reading.open() }, keep() {} };
  }
  const copy = nodeKeys === null ? null : keyCopy(dataDir, zones, key);
  const onCopyFailed = (error: unknown) => log.event('keys.failing', {}, error);
  const first = await firstKeys({
    read,
    copy,
    onWaiting(error) {
      onKeysMissing(true);
      log.event('keys.waiting', {}, error);
    },
    onCopyFailed,
    cancel,
  }).catch(refuseSecret);
  onKeysMissing(false);
  return { read, first, keep: (reading) => saveCopy(copy, reading, onCopyFailed) };
}

function reasonOf(error: unknown): TlsFault {
  return tlsFaultOf(error instanceof ConfigError ? error.faults : []);
}

function newTicketKeys(): Uint8Array {
  return randomBytes(TICKET_KEYS_OCTETS);
}
