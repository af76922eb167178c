/**
 * Composition root of the process: open, connect, run, close. `edge-worker.ts` is its counterpart in a DNS thread. Modules of a role are imported when the process
 * has that role: each module costs memory.
 */

import type { IncomingMessage, ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { FastifyInstance } from 'fastify';
import { removeDrafts } from '../base/drafts.ts';
import { freeOctets } from '../base/files.ts';
import { type CloseStep, closeAll, closeTogether, unlessCancelled } from '../base/lifecycle/close.ts';
import { collectGarbage } from '../base/lifecycle/collect-garbage.ts';
import { closeHttp } from '../base/lifecycle/http.ts';
import { backgroundTimers, pause } from '../base/lifecycle/timers.ts';
import type { Clock } from '../base/time.ts';
import { loadUdpAddon } from '../dns/udp/batch-listener.ts';
import type { Config } from '../ops/config/config.ts';
import { prepareDataDir } from '../ops/config/data-dir.ts';
import { isOpenToAll } from '../ops/config/feed-settings.ts';
import type { HostPort } from '../ops/config/parsers.ts';
import { programVersion } from '../ops/config/version.ts';
import { createEdgeStats } from '../ops/telemetry/edge-stats.ts';
import type { FeedLag } from '../ops/telemetry/feed-metrics.ts';
import type { Log } from '../ops/telemetry/log.ts';
import { createMetrics } from '../ops/telemetry/metrics.ts';
import { createOpsApp, opsRoutes, type Readiness } from '../ops/telemetry/ops-routes.ts';
import type { UnreadyReason } from '../ops/telemetry/vocabulary.ts';
import type { ControlSide } from './control/control-side.ts';
import type { ControlFeed } from './control/feed-work.ts';
import { aloneUpstream } from './edge/alone-upstream.ts';
import type { EdgeFeed } from './edge/edge-feed.ts';
import type { EdgeRole } from './edge/edge-role.ts';
import { serveDns } from './node/dns-over-rest.ts';
import type { EdgePorts } from './node/settings.ts';
import { checkOpenFiles, checkPorts, diskFault, portUses, takeServerLock } from './start-checks.ts';
import { removeUnusedViews } from './unused-views.ts';

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

/** What a benchmark may switch off, to measure what it costs. */
export interface ServeTrial {
  /** False: no usage, and no query log. */
  readonly counts?: boolean;
}

/** Milliseconds for HTTP requests under way at a stop. `serve` gives a stop 9.5 s in all. */
const HTTP_GRACE_MS = 3000;
/** Milliseconds that a node with a view waits until it has caught up. */
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
  { counts = true }: ServeTrial = {},
): Promise<RunningServer> {
  const startedAt = clock();
  const hasEdge = config.role !== 'control';
  const version = programVersion();
  for (const variable of config.unknown) log.event('config.unknown', { variable });

  if (config.feed !== null && isOpenToAll(config.feed.file)) log.event('credentials.open', {});

  const opened: CloseStep[] = [];
  // HTTP and DNS close at the same time: each may take seconds, and a stop has ten.
  const listeners: CloseStep[] = [];
  let state: 'starting' | 'running' | 'stopping' = 'starting';
  let waitsFor: UnreadyReason | null = null;
  let edge: EdgeRole | null = null;
  let control: ControlSide | null = null;
  let feed: ControlFeed | EdgeFeed | null = null;

  const stats = hasEdge ? createEdgeStats(config.workers) : null;
  const metrics = createMetrics({
    edgeStats: stats,
    feedLag,
    feed: () => feed?.now() ?? null,
    // While the database is down the scrape would wait for it.
    webhookOldestDue: () => (control?.isStoreUp() === true ? control.webhookOldestDue() : null),
    databaseUp: () => control?.isStoreUp() ?? null,
    logEpochAt: () => control?.logEpochAt() ?? null,
    dataDirFree: () => freeOctets(config.dataDir),
    unsentUsage: () => edge?.unsentUsage() ?? null,
    version,
    keys: () => control?.keys() ?? [],
    certificateEnd: () => edge?.certificateEnd() ?? null,
    transparency: { now: () => control?.transparency() ?? null, clock },
    process: true,
  });

  function feedLag(): FeedLag | null {
    const lag = edge?.lag() ?? null;
    return lag === null ? null : { ...lag, isStale: edge?.isStale() ?? false };
  }

  function readiness(): Readiness {
    if (state !== 'running')
      return { ready: false, reasons: waitsFor === null ? [state] : [state, waitsFor] };
    const reasons = edge?.unready() ?? [];
    if (control?.isStoreUp() === false) reasons.unshift('store');
    const lag = feedLag();
    return { ready: reasons.length === 0, reasons, feed: lag && { ...lag, stale: lag.isStale } };
  }

  function freeMemory(what: 'young' | 'all'): void {
    collectGarbage(what);
    if (what === 'young') return;
    if (config.udp === 'auto') loadUdpAddon()?.trim();
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
    removeUnusedViews(config);
    removeDrafts(config.dataDir, clock());
    if (hasEdge) checkOpenFiles(config.workers);
    await checkPorts(portUses(config));
    const dnsPorts = (): EdgePorts | null => edge?.ports ?? null;
    if (config.role !== 'edge') {
      const dns = hasEdge
        ? (request: IncomingMessage, response: ServerResponse, address: string): string | null =>
            serveDns(request, response, address, edge?.dns ?? null)
        : null;
      const ownNode = () => {
        const own = edge;
        if (own === null) return null;
        const { seq, epoch, stale } = own.report();
        return {
          name: config.nodeName,
          seq,
          epoch,
          isLate: stale,
          appliedAt: (of: number) => own.appliedAt(of),
        };
      };
      const options = { config, clock, log, metrics, dnsPorts, dns, ownNode, counts, freeMemory, cancel };
      const { openControlSide } = await import('./control/control-side.ts');
      control = await openControlSide(options, opened);
      feed = control.feed;
    }
    let upstream = control?.upstream ?? null;
    if (config.feed?.end === 'node') {
      const { openEdgeFeed } = await import('./edge/edge-feed.ts');
      const opening = await openEdgeFeed({
        feed: config.feed,
        config,
        // The view closes before the feed.
        report: () => (state === 'stopping' ? null : (edge?.report() ?? null)),
        clock,
        log,
        metrics,
      });
      feed = opening;
      upstream = opening.upstream;
      opened.push(() => opening.stop());
    }
    const app = control?.app ?? createOpsApp();
    const metricsFor = config.metrics === null ? 'this host' : 'nobody';
    app.register(opsRoutes, { readiness, metrics, metricsFor });
    opened.push(() => closeTogether(listeners));
    listeners.push(() => closeHttp({ server: app.server, close: () => app.close(), graceMs: HTTP_GRACE_MS }));
    const http = await listen(app, { host: config.httpHost, port: config.httpPort });
    let metricsPort: number | null = null;
    if (config.metrics !== null) {
      const { startHealthThread } = await import('../ops/telemetry/health-thread.ts');
      const entry = new URL('./health-worker.ts', import.meta.url);
      const health = await startHealthThread({ entry, ...config.metrics, readiness, metrics });
      listeners.push(() => health.stop());
      metricsPort = health.port;
    }
    if (stats !== null) {
      const { openEdgeRole } = await import('./edge/edge-role.ts');
      const role = await openEdgeRole({
        config,
        upstream: upstream ?? aloneUpstream(config, clock),
        cancel,
        onWaiting: (reason) => {
          waitsFor = reason;
        },
        stats,
        clock,
        log,
        metrics,
      });
      edge = role;
      listeners.push(() => role.stop());
      // A node answers from its view when it cannot reach the feed, or its disk is full.
      const first = [role.caughtUp, role.attempted];
      if (control === null) first.push(pause(backgroundTimers, FIRST_PASS_MS));
      await unlessCancelled(Promise.race(first), cancel);
    }
    cancel.throwIfAborted();
    freeMemory('all');
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
    throw diskFault(error, config.dataDir) ?? error;
  }
}

async function listen(app: FastifyInstance, { host, port }: HostPort): Promise<number> {
  await app.listen({ host, port });
  return (app.server.address() as AddressInfo).port;
}
