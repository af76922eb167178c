/** Composition root of the process: open, connect, run, close. `edge-worker.ts` is its counterpart in a DNS thread. */
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import type { FastifyInstance } from 'fastify';
import type { Config } from './config/config.ts';
import { prepareDataDir } from './config/data-dir.ts';
import type { HostPort } from './config/parsers.ts';
import { deriveKey, loadSecret } from './config/secrets.ts';
import { programVersion } from './config/version.ts';
import { hasLocalStore, openStore } from './control/store/open.ts';
import { type StoreProbe, startStoreProbe } from './control/store/probe.ts';
import type { Store } from './control/store/store.ts';
import { nodeKeys } from './control/store/tables/key-sets.ts';
import { type ControlRole, openControlRole } from './control-role.ts';
import type { Clock } from './core/clock.ts';
import { ENCRYPTION_KEY } from './edge/dnssec/keys/key-encryption.ts';
import { type EdgeRole, openEdgeRole } from './edge-role.ts';
import { type CloseStep, closeAll, closeTogether } from './lifecycle/close-all.ts';
import { closeHttp } from './lifecycle/close-http.ts';
import { checkOpenFiles, checkPorts, openCheckedStore, portUses, takeServerLock } from './start-checks.ts';
import { createEdgeStats } from './telemetry/edge-stats.ts';
import type { Log } from './telemetry/log.ts';
import { createMetrics } from './telemetry/metrics.ts';
import { createOpsApp, opsRoutes, type Readiness } from './telemetry/ops-routes.ts';
import { openZoneKeys } from './zone-keys/open.ts';
import { refuseSecret } from './zone-keys/refuse-secret.ts';

export interface ServerPorts {
  readonly http: number;
  /** Null when metrics have no own listener. */
  readonly metrics: number | null;
  /** Null in a process of the control role. */
  readonly dns: number | null;
  readonly dot: number | null;
  readonly doh: number | null;
}

export interface RunningServer {
  readonly ports: ServerPorts;
  readiness(): Readiness;
  reloadTls(): Promise<void>;
  /** Refuses new work, finishes what is in flight, flushes, closes. */
  stop(): Promise<void>;
}

const COOKIE_KEY_OCTETS = 32;
/** Milliseconds for HTTP requests under way at a stop. `serve` gives a stop 9.5 s in all. */
const HTTP_GRACE_MS = 3000;
/** Milliseconds that an edge waits for the first answer of its database. */
const FIRST_PASS_MS = 5_000;

/**
 * Starts every part of the role. Resolves when all parts listen and the view has caught up.
 * @param cancel closes what was opened and rejects with the signal's reason
 */
export async function serve(
  config: Config,
  clock: Clock,
  log: Log,
  cancel: AbortSignal = new AbortController().signal,
): Promise<RunningServer> {
  const startedAt = clock();
  const hasControl = config.role !== 'edge';
  const hasEdge = config.role !== 'control';
  const version = programVersion();
  for (const variable of config.unknown) log.event('config.unknown', { variable });

  const opened: CloseStep[] = [];
  // HTTP and DNS close at the same time: each may take seconds, and a stop has ten.
  const listeners: CloseStep[] = [];
  let state: 'starting' | 'running' | 'stopping' = 'starting';
  let lacksKeys = false;
  let edge: EdgeRole | null = null;
  let control: ControlRole | null = null;
  let probe: StoreProbe | null = null;

  const stats = hasEdge ? createEdgeStats(config.workers) : null;
  const metrics = createMetrics({
    edgeStats: stats,
    feedLag: () => edge?.lag() ?? null,
    // While the database is down the scrape would wait for it.
    webhookOldestDue: () => (probe?.isUp() === false ? null : (control?.webhookOldestDue() ?? null)),
    databaseUp: () => probe?.isUp() ?? null,
    version,
    certificateEnd: () => edge?.certificateEnd() ?? null,
    process: true,
  });

  function readiness(): Readiness {
    if (state !== 'running') return { ready: false, reasons: lacksKeys ? [state, 'keys'] : [state] };
    const reasons = edge?.unready() ?? [];
    if (probe?.isUp() === false) reasons.unshift('store');
    const lag = edge?.lag() ?? null;
    const feed = lag === null ? null : { stale: edge?.isStale() ?? false, ...lag };
    return { ready: reasons.length === 0, reasons, feed };
  }

  async function close(): Promise<void> {
    state = 'stopping';
    // Deliveries under way get their five seconds while connections close.
    control?.quiesce();
    // In reverse order of opening: listeners first, then what they use.
    await closeAll(opened.toReversed());
  }

  try {
    const { narrowed } = prepareDataDir(config.dataDir);
    if (narrowed > 0) log.event('data.narrowed', { entries: narrowed });
    const lock = takeServerLock(config.dataDir);
    opened.push(() => lock.release());
    if (hasEdge) checkOpenFiles(config.workers);
    await checkPorts(portUses(config));
    // An existing database needs the secret that encrypted it. Do not make another one.
    const mayMakeSecret = config.databaseUrl !== null || !hasLocalStore(config.dataDir);
    const secret = loadSecret(config.dataDir, config.secret, mayMakeSecret);
    let store: Store | null = null;
    if (hasControl || config.databaseUrl !== null) {
      const opening = hasControl
        ? await unlessCancelled(openCheckedStore(config, secret, clock), cancel)
        : await openStore({ ...config, clock, isFollower: true });
      store = opening;
      opened.push(() => opening.close());
    }
    const encryptionKey = deriveKey(secret, ENCRYPTION_KEY.label, ENCRYPTION_KEY.octets);
    if (hasControl && store !== null && config.dnssec !== 'off') {
      await makeZoneKeys({ config, store, encryptionKey, clock, log });
    }
    if (hasControl && store !== null) {
      const role = openControlRole({ config, store, secret, clock, log, metrics });
      control = role;
      opened.push(() => role.stop());
      const probing = startStoreProbe(store, (isUp, error) =>
        log.event('store.state', { state: isUp ? 'up' : 'down' }, error),
      );
      probe = probing;
      opened.push(() => probing.stop());
    }
    const app = control?.app ?? createOpsApp();
    const metricsFor = config.metrics === null ? 'this host' : 'nobody';
    app.register(opsRoutes, { readiness, metrics, metricsFor });
    opened.push(() => closeTogether(listeners));
    listeners.push(() => closeHttp({ server: app.server, close: () => app.close(), graceMs: HTTP_GRACE_MS }));
    const http = await listen(app, { host: config.httpHost, port: config.httpPort });
    let metricsPort: number | null = null;
    if (config.metrics !== null) {
      const ops = createOpsApp();
      ops.register(opsRoutes, { readiness, metrics, metricsFor: 'everyone' });
      listeners.push(() =>
        closeHttp({ server: ops.server, close: () => ops.close(), graceMs: HTTP_GRACE_MS }),
      );
      metricsPort = await listen(ops, config.metrics);
    }
    if (stats !== null) {
      const role = await openEdgeRole({
        config,
        source: config.sync ? (store?.changes ?? null) : null,
        nodeKeys: store?.engine === 'postgres' ? nodeKeys(store.read) : null,
        encryptionKey,
        cancel,
        onKeysMissing: (isMissing) => {
          lacksKeys = isMissing;
        },
        cookieKey: deriveKey(secret, 'dns-cookie', COOKIE_KEY_OCTETS),
        stats,
        clock,
        log,
        metrics,
      });
      edge = role;
      listeners.push(() => role.stop());
      // An edge answers from its view when it cannot reach its database.
      const isUp = hasControl
        ? role.caughtUp
        : Promise.race([role.caughtUp, role.attempted, sleep(FIRST_PASS_MS, undefined, { ref: false })]);
      await unlessCancelled(isUp, cancel);
    }
    cancel.throwIfAborted();
    state = 'running';
    const workers = hasEdge ? config.workers : 0;
    log.event('server.started', {
      version,
      role: config.role,
      workers,
      seconds: (clock() - startedAt) / 1000,
    });
    return {
      ports: {
        http,
        metrics: metricsPort,
        dns: edge?.ports.dns ?? null,
        dot: edge?.ports.dot ?? null,
        doh: edge?.ports.doh ?? null,
      },
      readiness,
      reloadTls: async () => edge?.reloadTls(),
      stop: close,
    };
  } catch (error) {
    // The start's error matters more than a further one while closing.
    await close().catch(() => {});
    throw error;
  }
}

/** @throws the signal's reason when it aborts before `work` ends */
async function unlessCancelled<T>(work: Promise<T>, cancel: AbortSignal): Promise<T> {
  const waiting = new AbortController();
  const cancelled = once(cancel, 'abort', { signal: waiting.signal }).then(() => cancel.throwIfAborted());
  try {
    cancel.throwIfAborted();
    await Promise.race([work, cancelled]);
    return await work;
  } finally {
    cancelled.catch(() => {});
    waiting.abort();
  }
}

async function listen(app: FastifyInstance, { host, port }: HostPort): Promise<number> {
  await app.listen({ host, port });
  return (app.server.address() as AddressInfo).port;
}

interface MakeKeysOptions {
  readonly config: Config;
  readonly store: Store;
  readonly encryptionKey: Uint8Array;
  readonly clock: Clock;
  readonly log: Log;
}

/** Makes missing signing keys before a query needs them. */
async function makeZoneKeys({ config, store, encryptionKey, clock, log }: MakeKeysOptions): Promise<void> {
  const zoneKeys = openZoneKeys({
    dataDir: config.dataDir,
    store,
    key: encryptionKey,
    clock,
    mayMake: true,
    onStored: (_zone, origin) => log.event('keys.stored', { origin }),
  });
  for (const zone of config.zones) await zoneKeys.load(zone).catch(refuseSecret);
}
