/** The edge role of a process: the view, the follower that writes it, and the DNS workers that read it. */

import { join } from 'node:path';
import { randomUpTo, realRandom } from '../../base/chance.ts';
import { DiskFullError, freeOctets } from '../../base/files.ts';
import { closeAll, unlessCancelled } from '../../base/lifecycle/close.ts';
import type { Clock } from '../../base/time.ts';
import { type NodeAccounting, openNodeAccounting } from '../../dns/accounting/node-accounting.ts';
import { usageSpool } from '../../dns/accounting/spool.ts';
import type { DohService } from '../../dns/doh/answer.ts';
import { createConnectionMemory, releaseConnections } from '../../dns/shared/connection-table.ts';
import { createRateMemory, makeRateLimits } from '../../dns/shared/rate-limit.ts';
import type { Follower } from '../../feed/follower/follower.ts';
import { type Config, ConfigError } from '../../ops/config/config.ts';
import type { Metrics, UnsentUsage } from '../../ops/telemetry/metrics.ts';
import type { UnreadyReason } from '../../ops/telemetry/vocabulary.ts';
import { geoipPaths, isDatabase, loadDatabase } from '../../services/geoip-files.ts';
import { loadPlaces } from '../../services/places/table.ts';
import type { ProviderClient } from '../../services/providers/client.ts';
import { connectWorker } from '../../services/providers/worker.ts';
import { createFreshness } from '../../view/freshness.ts';
import { openLmdbWriter } from '../../view/writer.ts';
import type { EdgeUpstream } from '../edge-upstream.ts';
import { dnsOverRest } from '../node/dns-over-rest.ts';
import { ticketKeys } from '../node/keys.ts';
import { startPool } from '../node/pool.ts';
import type { EdgePorts } from '../node/settings.ts';
import { openCallingProviders } from '../providers.ts';
import { openCertificate, tlsReasonOf } from './edge-certificate.ts';
import type { EdgeReport } from './edge-feed.ts';
import { type EdgeKeysOptions, openKeys } from './edge-keys.ts';
import { followView } from './followed-view.ts';

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
  /** What control is told of this node. */
  report(): EdgeReport;
  /** When the view got a change, milliseconds since the epoch; null: not known. */
  appliedAt(seq: number): number | null;
  /** Null when nothing is counted. */
  unsentUsage(): UnsentUsage | null;
  /** Reads the certificate again; the current one stays when that fails. */
  reloadTls(): Promise<void>;
  /** End of the current certificate, milliseconds since the epoch. */
  certificateEnd(): number;
  /** Answers DNS over the REST port of this process. */
  readonly dns: DohService;
  stop(): Promise<void>;
}

export interface EdgeRoleOptions extends Pick<EdgeKeysOptions, 'cancel' | 'log'> {
  readonly config: Config;
  readonly upstream: EdgeUpstream;
  /** Called while the start waits for signing keys or the first view: without them answers would be unsigned, or wrong. */
  readonly onWaiting: (reason: 'keys' | 'feed' | null) => void;
  readonly stats: SharedArrayBuffer;
  readonly clock: Clock;
  readonly metrics: Pick<
    Metrics,
    'feed' | 'providerCalled' | 'queryLogDropped' | 'usageLost' | 'usageRefused' | 'workerRestarted'
  >;
}

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
  const { config, upstream, clock, log, metrics, onWaiting } = options;
  const { source } = upstream;
  if (config.geoipDb !== null && !isDatabase(config.geoipDb)) {
    throw new ConfigError(['UQRP_GEOIP_DB must be a MaxMind DB file that this user can read']);
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
  let restarts = 0;

  const certificate = openCertificate(config, clock, log);
  opened.push(() => certificate.stop());

  const followed = followView({
    source,
    view,
    freshness,
    clock,
    acceptNewStore: config.acceptNewStore,
    onApplied(changes) {
      upstream.moved?.();
      metrics.feed.applied(changes.length);
    },
    onState: (state, seq) => log.event('feed.state', { state, seq }),
    onFailing(reason, seconds, error) {
      // What is no fault of the view's disk is one of the snapshots that are downloaded.
      const full = error instanceof DiskFullError ? 'view' : 'incoming';
      const path = reason === 'disk_full' ? full : null;
      log.event('feed.failing', { reason, seconds, path, free: freeOctets(config.dataDir) }, error);
    },
  });
  const { follower } = followed;
  if (follower !== null) opened.push(() => follower.stop());

  const secrets = await openKeys({
    ...options,
    ...upstream,
    onKeysMissing: (isMissing) => onWaiting(isMissing ? 'keys' : null),
  });
  const tickets = ticketKeys(() => secrets.tickets(), clock);
  const providers = upstream.providers ?? (await ownProviders(options, opened));
  const accounting = await openAccounting(options);
  if (accounting !== null) opened.push(() => accounting.stop());
  if (follower !== null) await firstView(follower, followed.hasView, options);
  const geoip = await loadDatabase({
    paths: geoipPaths(config.dataDir, config.geoipDb),
    onFault() {},
  });
  const connections = createConnectionMemory(config.workers);
  const rates = createRateMemory();
  const pool = await startPool({
    entry: new URL('../edge-worker.ts', import.meta.url),
    settings: {
      host: config.host,
      ports: { dns: config.dnsPort, dot: config.dotPort, doh: config.dohPort },
      tls: { cert: certificate.first.cert, key: certificate.first.key },
      ticketKeys: tickets.first,
      zones: config.zones,
      nameServers: config.nameServers,
      signing: config.dnssec === 'split' ? 'split' : 'full',
      keys: secrets.first.keys,
      nodeName: config.nodeName,
      sync: config.sync,
      demo: config.demo,
      btc: config.btc,
      // A node learns from its view whether there is a log. Beside control its own setting counts as well.
      datasets: config.datasets
        ? { asOf: config.datasetsAsOf, log: config.role === 'edge' || config.datasetsLog !== null }
        : null,
      geoip: geoip.first,
      places: loadPlaces(),
      viewPath,
      dataDir: config.dataDir,
      feeds: providers.offered,
      freshness: freshness.buffer,
      stats: options.stats,
      accounting: accounting !== null,
      cookies: secrets.first.cookies,
      limits: config.dnsLimits,
      udp: config.udp,
      proxies: config.proxyProtocol,
      xdp: config.xdp,
      rates,
      connections,
      shares: randomUpTo(realRandom, 2 ** 32 - 1),
    },
    connect: () => connectWorker(providers),
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
      xdp(worker, { at, ...change }) {
        const where = { worker, interface: at };
        if (change.type === 'attached') log.event('xdp.attached', { ...where, mode: change.mode });
        else log.event(`xdp.${change.type}`, { ...where, reason: change.reason });
      },
      counted: (buffer) => accounting?.take(buffer),
    },
  });
  opened.push(() => pool.stop());
  const database = geoip.watch((loaded) => pool.change({ geoip: loaded }));
  opened.push(() => database.close());
  const watch = secrets.watch((changed) => pool.change(changed));
  opened.push(() => watch.stop());
  const rotation = tickets.rotate(
    (key) => pool.change({ ticketKeys: key }),
    (error) => log.event('tls.failing', { reason: tlsReasonOf(error) }, error),
  );
  opened.push(() => rotation.stop());
  log.event('udp.opened', { path: pool.udp });

  const { admit } = makeRateLimits({ memory: rates, ...config.dnsLimits, clock });
  return {
    dns: dnsOverRest({
      pool,
      admit: config.dnsLimits.httpsRequests === 0 ? null : admit,
      onFault: () => log.event('listener.failing', { transport: 'doh', worker: 0 }),
    }),
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
    report: () => ({
      ...followed.report(),
      // A rollover waits for them.
      ...secrets.report(),
      spoolOctets: accounting?.spoolOctets() ?? 0,
    }),
    certificateEnd: () => certificate.end(),
    appliedAt: (seq) => followed.appliedAt(seq),
    isStale: () => follower?.isStale() ?? false,
    unsentUsage: () => accounting && { answers: accounting.waiting(), spoolOctets: accounting.spoolOctets() },
    reloadTls: () => certificate.reload((tls) => pool.change({ tls })),
  };
}

/** Resolves when there is a view to answer from: an empty one would refuse names that exist. */
async function firstView(
  follower: Follower,
  viewed: Promise<void>,
  { onWaiting, cancel, log }: EdgeRoleOptions,
): Promise<void> {
  if (follower.hasView()) return;
  onWaiting('feed');
  await unlessCancelled(Promise.race([viewed, follower.attempted]), cancel);
  if (!follower.hasView()) log.event('view.waiting', {});
  await unlessCancelled(viewed, cancel);
  onWaiting(null);
}

async function ownProviders(options: EdgeRoleOptions, opened: Opened): Promise<ProviderClient> {
  const providers = await openCallingProviders(options);
  opened.push(() => providers.stop());
  return providers.client;
}

async function openAccounting(options: EdgeRoleOptions): Promise<NodeAccounting | null> {
  const { upstream, config, clock, log, metrics } = options;
  const { accounting } = upstream;
  if (accounting === null) return null;
  return openNodeAccounting({
    node: config.nodeName,
    ...accounting,
    spool: usageSpool(join(config.dataDir, 'accounting')),
    onDropped: (rows) => metrics.queryLogDropped(rows),
    onUsageRefused: (answers) => metrics.usageRefused(answers),
    onUsageLost: (answers) => metrics.usageLost(answers),
    clock,
    onFailing: (part, error) => log.event('accounting.failing', { part }, error),
  });
}
