/** The control side of a process: the store, the REST API over it, and what sends its changes to nodes. */
import type { FastifyInstance } from 'fastify';
import { type CloseStep, unlessCancelled } from '../../base/lifecycle/close.ts';
import { createReportLimits } from '../../base/lifecycle/report-limits.ts';
import type { Clock } from '../../base/time.ts';
import type { NodeProgress, Nodes } from '../../control/usage/propagation.ts';
import { ENCRYPTION_KEY } from '../../dns/dnssec/key-files.ts';
import type { NodeKeys } from '../../feed/ports/node-keys.ts';
import type { Config } from '../../ops/config/config.ts';
import { deriveKey, loadSecret, type Secret } from '../../ops/config/data-dir.ts';
import type { KeysNow } from '../../ops/telemetry/edge-metrics.ts';
import type { Log } from '../../ops/telemetry/log.ts';
import type { Metrics } from '../../ops/telemetry/metrics.ts';
import type { ProviderClient } from '../../services/providers/client.ts';
import { startEpochWatch } from '../../store/epoch-watch.ts';
import { hasLocalStore } from '../../store/open.ts';
import { startStoreProbe } from '../../store/probe.ts';
import { queryLogSink } from '../../store/query-log/add-rows.ts';
import type { Store } from '../../store/store.ts';
import { usageSink } from '../../store/usage.ts';
import { dsSeenBy, resolversOf } from '../dns-client.ts';
import type { EdgeUpstream } from '../edge-upstream.ts';
import { openCallingProviders } from '../providers.ts';
import { openStoreOnceThere } from '../start-checks.ts';
import { type AutomaticRollover, startAutomaticRollover } from '../zone-keys/automatic-rollover.ts';
import { COOKIE_KEY, controlSecrets, TICKET_KEY, type ZoneKeys } from '../zone-keys/control-secrets.ts';
import { openZoneKeys, refuseSecret } from '../zone-keys/open.ts';
import { type ControlRole, type ControlRoleOptions, openControlRole } from './control-role.ts';
import type { ControlFeed } from './feed-work.ts';

export interface ControlSide {
  /** Not listening yet. */
  readonly app: FastifyInstance;
  /** For the edge of the same process. */
  readonly upstream: EdgeUpstream;
  /** Null without a feed. */
  readonly feed: ControlFeed | null;
  isStoreUp(): boolean;
  /** When the present epoch of the log began, milliseconds since 1970-01-01 UTC; 0: with the database. Null: not known yet. */
  logEpochAt(): number | null;
  webhookOldestDue(): Promise<number>;
  /** How the transparency log is; null: there is none. */
  transparency: ControlRole['transparency'];
  /** The signing keys, by role. */
  keys(): readonly KeysNow[];
  quiesce(): void;
}

export interface ControlSideOptions {
  readonly config: Config;
  readonly clock: Clock;
  readonly log: Log;
  readonly metrics: Metrics;
  readonly dnsPorts: ControlRoleOptions['dnsPorts'];
  readonly dns: ControlRoleOptions['dns'];
  /** The edge in this process; null: there is none, or it has not started. */
  readonly ownNode: () => NodeProgress | null;
  /** False: nothing is counted. */
  readonly counts: boolean;
  readonly freeMemory: ControlRoleOptions['freeMemory'];
  readonly cancel: AbortSignal;
}

/** @param opened gets a step for each part that was opened, also when a later part fails */
export async function openControlSide(
  options: ControlSideOptions,
  opened: CloseStep[],
): Promise<ControlSide> {
  const { config, clock, log, metrics, dnsPorts, dns, ownNode, counts, freeMemory, cancel } = options;
  const startedAt = clock();
  // An existing database needs the secret that encrypted it. Do not make another one.
  const mayMakeSecret = config.databaseUrl !== null || !hasLocalStore(config.dataDir);
  const secret = loadSecret(config.dataDir, config.secret, mayMakeSecret);
  let hasWaited = false;
  const opening = openStoreOnceThere(config, secret, {
    clock,
    cancel,
    onWaiting(error) {
      hasWaited = true;
      log.event('store.waiting', {}, error);
    },
  });
  const store = await unlessCancelled(opening, cancel);
  opened.push(() => store.close());
  if (hasWaited) log.event('store.state', { state: 'up' });
  const { zoneKeys, nodeKeys } = await openKeys(store, secret, options);
  const ownMoves = new Set<() => void>();
  const moved = (): void => {
    for (const listener of ownMoves) listener();
  };
  const upstream = upstreamOf(store, { config, nodeKeys, clock, counts, moved });
  const sending = await openFeed(store, { secret, nodeKeys }, options, opened);
  const feed = sending?.feed ?? null;
  const nodes: Nodes = {
    list() {
      const own = ownNode();
      return [...(own === null ? [] : [own]), ...(feed?.nodes.list() ?? [])];
    },
    onMoved(listener) {
      ownMoves.add(listener);
      const stop = feed?.nodes.onMoved(listener);
      return () => {
        ownMoves.delete(listener);
        stop?.();
      };
    },
  };
  const rollover = startRollover(zoneKeys, feed, options);
  opened.push(() => rollover.stop());
  const role = openControlRole({
    config,
    dnsPorts,
    dns,
    nodes,
    store,
    secret,
    clock,
    log,
    metrics,
    freeMemory,
  });
  opened.push(() => role.stop());
  const probe = startStoreProbe(store, (isUp, error) =>
    log.event('store.state', { state: isUp ? 'up' : 'down' }, error),
  );
  opened.push(() => probe.stop());
  const epochs = startEpochWatch(store, (found) => log.event('store.new_epoch', found), startedAt);
  opened.push(() => epochs.stop());
  return {
    app: role.app,
    // An edge in this process shares the provider client of the nodes: quotas are spent once.
    upstream: { ...upstream, providers: sending?.providers ?? null },
    feed,
    isStoreUp: () => probe.isUp(),
    logEpochAt: () => epochs.beganAt(),
    webhookOldestDue: () => role.webhookOldestDue(),
    transparency: () => role.transparency(),
    keys: () => rollover.status(),
    quiesce: () => role.quiesce(),
  };
}

async function openFeed(
  store: Store,
  own: { readonly secret: Secret; readonly nodeKeys: NodeKeys },
  { config, clock, log, metrics }: ControlSideOptions,
  opened: CloseStep[],
): Promise<{ readonly feed: ControlFeed; readonly providers: ProviderClient } | null> {
  const { feed: settings, databaseUrl } = config;
  if (settings?.end !== 'control') return null;
  const calling = await openCallingProviders({ config, clock, metrics });
  opened.push(() => calling.stop());
  const providers = calling.client;
  const { openControlFeed } = await import('./control-feed.ts');
  const feed = await openControlFeed({
    feed: settings,
    config,
    store,
    databaseUrl,
    ...own,
    providers,
    clock,
    log,
    metrics,
  });
  opened.push(() => feed.stop());
  return { feed, providers };
}

interface UpstreamOptions {
  readonly config: Config;
  readonly nodeKeys: NodeKeys;
  readonly clock: Clock;
  readonly counts: boolean;
  readonly moved: () => void;
}

/** Reads and writes the store in process. */
function upstreamOf(store: Store, { config, nodeKeys, clock, counts, moved }: UpstreamOptions): EdgeUpstream {
  return {
    source: config.sync ? store.changes : null,
    nodeKeys,
    providers: null,
    accounting: counts ? { usage: usageSink(store, clock), queryLog: queryLogSink(store, clock) } : null,
    moved,
  };
}

/** Signing keys, and the secrets of the edge in this process and of all nodes. Makes missing keys before a query needs them. */
async function openKeys(
  store: Store,
  secret: Secret,
  { config, clock, log }: ControlSideOptions,
): Promise<{ readonly zoneKeys: ZoneKeys; readonly nodeKeys: NodeKeys }> {
  const keyOf = ({ label, octets }: { readonly label: string; readonly octets: number }): Uint8Array =>
    deriveKey(secret, label, octets);
  const zones = signedZones(config);
  const zoneKeys = openZoneKeys({
    dataDir: config.dataDir,
    store,
    key: keyOf(ENCRYPTION_KEY),
    clock,
    mayMake: true,
    onStored: (_zone, origin) => log.event('keys.stored', { origin }),
  });
  for (const zone of zones) await zoneKeys.load(zone).catch(refuseSecret);
  const nodeKeys = controlSecrets({
    keys: zoneKeys,
    zones,
    mode: config.dnssec === 'split' ? 'split' : 'full',
    cookieKey: keyOf(COOKIE_KEY),
    ticketKey: config.feed === null ? null : keyOf(TICKET_KEY),
    clock,
  });
  return { zoneKeys, nodeKeys };
}

function signedZones({ dnssec, zones }: Config): readonly string[] {
  return dnssec === 'off' ? [] : zones;
}

function startRollover(
  keys: ZoneKeys,
  feed: ControlFeed | null,
  { config, clock, log, metrics }: ControlSideOptions,
): AutomaticRollover {
  const isDue = createReportLimits<string>(clock);
  return startAutomaticRollover({
    keys,
    zones: signedZones(config),
    days: config.keyDays,
    async parentDs(zone) {
      const seen = await Promise.all(resolversOf(config.resolvers).map((one) => dsSeenBy(one, zone)));
      return seen.filter((lines) => lines !== null);
    },
    // Processes that share a database read a changed key set within seconds.
    nodesBehind: (zone, keyTag) => feed?.nodesBehind(zone, keyTag) ?? 0,
    clock,
    onStep(role, step, keyTag) {
      metrics.keyRolled(role, step);
      log.event('keys.rolled', { role, step, key_tag: keyTag });
    },
    onWaiting(role, step, reason) {
      if (isDue(`${role} ${step} ${reason}`)) log.event('keys.rollover_waiting', { role, step, reason });
    },
    onError: (error) => log.event('keys.rollover_failing', {}, error),
  });
}
