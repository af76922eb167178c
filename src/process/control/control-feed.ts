/** The control side's end of the feed: it publishes the log, and answers the nodes. */

import { randomBytes } from 'node:crypto';
import { dirname, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { databaseOf } from '../../base/ids.ts';
import { closeAll } from '../../base/lifecycle/close.ts';
import { createReportLimits } from '../../base/lifecycle/report-limits.ts';
import { aesGcmEncryption, type SecretEncryption } from '../../base/seal.ts';
import type { Clock } from '../../base/time.ts';
import type { NodeProgress, Nodes } from '../../control/usage/propagation.ts';
import { withNodeBudgets } from '../../feed/bus/node-budgets.ts';
import { startKeyService, startSecretsService } from '../../feed/keys/control-keys.ts';
import type { HourlyKey } from '../../feed/keys/hourly-keys.ts';
import type { FeedVerifier } from '../../feed/message/keys.ts';
import {
  type ControlEnd,
  type ControlIdentity,
  controlIdentity,
  controlRpc,
  operatorEnd,
} from '../../feed/message/rpc.ts';
import { startMeter } from '../../feed/nodes/meter.ts';
import {
  collectNodeStates,
  isNodeBehind,
  type NodeReport,
  type NodeStates,
} from '../../feed/nodes/node-states.ts';
import { type NodeList, verifiersOf, type WatchedNodes, watchNodes } from '../../feed/nodes/nodes.ts';
import {
  answerDemands,
  type PublisherReport,
  startCommands,
  startStatus,
} from '../../feed/nodes/operator.ts';
import { answerProviderAsks } from '../../feed/nodes/provider-asks.ts';
import { CredentialsError, type FeedCredentials, printCredentials } from '../../feed/ports/credentials.ts';
import type { LeaderLock } from '../../feed/ports/feed-store.ts';
import type { NodeKeys } from '../../feed/ports/node-keys.ts';
import { type PublisherEvent, processLock, startPublisher } from '../../feed/publish/publisher.ts';
import { startResponder } from '../../feed/publish/responder.ts';
import { startSnapshotChild } from '../../feed/snapshots/child-process.ts';
import { keptSnapshots } from '../../feed/snapshots/snapshot-reader.ts';
import { type Config, ConfigError } from '../../ops/config/config.ts';
import { deriveKey, type Secret } from '../../ops/config/data-dir.ts';
import type { FeedSettings } from '../../ops/config/feed-settings.ts';
import type { FeedNow } from '../../ops/telemetry/feed-metrics.ts';
import type { Log } from '../../ops/telemetry/log.ts';
import type { Metrics } from '../../ops/telemetry/metrics.ts';
import { mapFile } from '../../services/exchanges.ts';
import { GEOIP_FILE } from '../../services/geoip-files.ts';
import type { ProviderClient } from '../../services/providers/client.ts';
import { answerAsk } from '../../services/providers/remote.ts';
import { queryLogSink } from '../../store/query-log/add-rows.ts';
import { FEED_KEYS_LABEL, feedKeyStore } from '../../store/server-keys.ts';
import { renewEpoch } from '../../store/service-facts.ts';
import type { Store } from '../../store/store.ts';
import { existingNamespaces, usageSink } from '../../store/usage.ts';
import { openFeedBus, verifierOf } from '../feed-bus.ts';
import { reportRefusals } from '../refusal-reports.ts';

/** Snapshots on the control side: the child process that makes them, and who may ask for one. */

interface ControlSnapshotsOptions {
  readonly feed: { readonly credentials: FeedCredentials; readonly servers: readonly string[] };
  readonly dataDir: string;
  /** Instead of the file that `uqrp geoip update` writes. */
  readonly geoipDb: string | null;
  readonly operator: ControlEnd;
  readonly keys: () => readonly HourlyKey[];
  /** Whether this process publishes. */
  readonly isLeading: () => boolean;
  readonly clock: Clock;
  readonly log: Log;
}

interface ControlSnapshots {
  /** Seconds since the last one was made; null: this process has made none. */
  age(): number | null;
  stop(): Promise<void>;
}

function startControlSnapshots(options: ControlSnapshotsOptions): ControlSnapshots {
  const { feed, dataDir, geoipDb, operator, keys, isLeading, clock, log } = options;
  const isDue = createReportLimits<'failing'>(clock);
  const child = startSnapshotChild({
    entry: new URL('../snapshot-process.ts', import.meta.url),
    start: {
      credentials: printCredentials(feed.credentials),
      servers: feed.servers,
      directory: join(dataDir, 'snapshots'),
      geoip: geoipDb ?? join(dataDir, GEOIP_FILE),
      stockMap: mapFile(dataDir),
    },
    keys,
    isLeading,
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

/** What control does with what nodes send: takes their counts and rows, answers for providers, knows how they are, and tells it. */

interface ControlExchangeOptions {
  /** Of nodes. */
  readonly end: ControlEnd;
  /** Of the command line, and of other control processes. */
  readonly operator: ControlEnd;
  readonly identity: ControlIdentity;
  readonly nodes: NodeList;
  readonly verifier: FeedVerifier;
  readonly store: Store;
  readonly providers: Pick<ProviderClient, 'ask'>;
  /** Null while another process publishes. */
  readonly publisher: () => PublisherReport | null;
  readonly metrics: Pick<Metrics, 'feed'>;
}

interface ControlExchange {
  readonly states: NodeStates;
  /** In the order in which they must end. */
  readonly stops: readonly (() => void | Promise<void>)[];
}

function openControlExchange(options: ControlExchangeOptions): ControlExchange {
  const { end, operator, identity, nodes, verifier, store, providers, metrics } = options;
  const { bus, clock } = end;
  const states = collectNodeStates({ end, names: () => nodes.current().map(({ name }) => name) });
  return {
    states,
    stops: [
      startMeter({
        end,
        usage: usageSink(store, clock),
        queryLog: queryLogSink(store, clock),
        existing: (ids) => existingNamespaces(store, ids),
        onLeftOut: (answers) => metrics.feed.leftOut(answers),
      }),
      answerProviderAsks(end, answerAsk(providers, clock)),
      startStatus({
        end: operator,
        rpc: controlRpc(identity, { bus, verifier, random: randomBytes, clock }),
        verifier,
        states,
        publisher: options.publisher,
        bounds: () => store.changes.bounds(),
        snapshots: () => keptSnapshots(bus, verifier, clock),
      }),
      () => states.stop(),
    ],
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

export interface ControlFeed {
  now(): FeedNow;
  /** How far each node is, as it told last. */
  readonly nodes: Nodes;
  /** Nodes that have not reported this signing key, or are late. */
  nodesBehind(zone: string, keyTag: number): number;
  stop(): Promise<void>;
}

/** A start waits this long for the broker. */
const CONNECT_MS = 1_000;

/** Returns although the broker is away: REST does not need it. */
export async function openControlFeed(options: ControlFeedOptions): Promise<ControlFeed> {
  const { feed, store, databaseUrl, secret, clock, log } = options;
  let conflicts = 0;
  const report = reportPublisher(options, () => conflicts++);
  const nodes = openNodes(feed.file, log);
  const database = databaseOf((await store.changes.bounds()).epoch);
  const { bus: unbounded, attempted } = await openFeedBus(options);
  const isFloodDue = createReportLimits<string>(clock);
  const bus = withNodeBudgets(unbounded, {
    clock,
    onDropped(node) {
      options.metrics.feed.dropped(node);
      if (isFloodDue(node)) log.event('feed.node_flooding', { node });
    },
  });
  const identity = controlIdentity(feed.credentials.sign);
  const verifier = verifierOf(feed);
  const isDue = createReportLimits<'exchange'>(clock);
  const own = {
    bus,
    clock,
    onRefused: reportRefusals(log, options.metrics.feed, clock),
    onError: (error: unknown) => {
      if (isDue('exchange')) log.event('feed.exchange_failing', {}, error);
    },
  };
  const secrets = () => keys.secrets();
  const end: ControlEnd = {
    ...own,
    verifierOf: verifiersOf(() => nodes.current(), verifier),
    ring: () => keys.ring(),
    signing: { signer: identity.signer, random: randomBytes },
    secrets,
  };
  const operator = operatorEnd(identity, verifier, { ...own, random: randomBytes });
  const onError = (error: unknown): void => report('failed', error);
  const keys = startKeyService({
    store: feedKeyStore(store, feedKeyEncryption(secret)),
    end,
    nodes,
    onError,
  });
  const stopSecrets = startSecretsService({ source: options.nodeKeys, database, end, nodes, onError });
  // So that the publisher's first look at the stream does not fail.
  await Promise.race([attempted, sleep(CONNECT_MS, undefined, { ref: false })]);
  const publisher = startPublisher({
    source: store.changes,
    bus,
    lock: await lockOf(databaseUrl),
    secrets,
    verifier,
    clock,
    onEvent: report,
  });
  const stopCommands = startCommands({
    end: operator,
    renewKeys: () => keys.renew(),
    renewEpoch: () => store.write((tx) => renewEpoch(tx, clock())),
  });
  const stopAnswers = startResponder({ source: store.changes, end });
  const snapshots = startControlSnapshots({
    ...options.config,
    feed,
    operator,
    keys: () => keys.readable(),
    isLeading: () => publisher.status().seq !== null,
    clock,
    log,
  });
  const exchange = openControlExchange({
    ...options,
    end,
    operator,
    identity,
    nodes,
    verifier,
    publisher() {
      const { seq, unconfirmed } = publisher.status();
      return seq === null ? null : { seq, unconfirmed, conflicts };
    },
  });
  return {
    now() {
      const { seq, unconfirmed } = publisher.status();
      return {
        isConnected: bus.state() === 'connected',
        node: null,
        control: {
          published: seq,
          unconfirmed,
          // One of an earlier time as the publisher says nothing about those of the present one.
          snapshotSeconds: seq === null ? null : snapshots.age(),
          late: exchange.states.list().filter(({ late }) => late).length,
        },
      };
    },
    nodes: {
      list: () => exchange.states.list().map(progressOf),
      onMoved: (listener) => exchange.states.onHeard(listener),
    },
    nodesBehind: (zone, keyTag) =>
      exchange.states.list().filter((node) => isNodeBehind(node, zone, keyTag)).length,
    stop: () =>
      closeAll([
        ...exchange.stops,
        stopAnswers,
        stopCommands,
        () => snapshots.stop(),
        () => publisher.stop(),
        () => keys.stop(),
        stopSecrets,
        () => nodes.stop(),
        () => bus.close(),
      ]),
  };
}

function progressOf({ name, state, appliedAt, late }: NodeReport): NodeProgress {
  const { seq, epoch } = state ?? { seq: null, epoch: null };
  // A node tells when it got its last change, and not when it got those before.
  return { name, seq, epoch, isLate: late, appliedAt: (asked) => (asked === seq ? appliedAt : null) };
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

/** Without a cache: decrypted keys must not outlive their rows. */
function feedKeyEncryption(secret: Secret): SecretEncryption {
  return aesGcmEncryption(deriveKey(secret, FEED_KEYS_LABEL, 32), randomBytes, 0);
}

function reportPublisher(
  { log, metrics, clock }: ControlFeedOptions,
  onConflict: () => void,
): (event: PublisherEvent, error?: unknown) => void {
  const isDue = createReportLimits<PublisherEvent>(clock);
  return (event, error) => {
    if (event === 'conflict') {
      metrics.feed.conflicted();
      onConflict();
    }
    if (event === 'leading' || event === 'stepped_back') log.event('feed.publishing', { state: event });
    else if (isDue(event)) log.event('feed.publisher_failing', { reason: event }, error);
  };
}

async function lockOf(databaseUrl: string | null): Promise<LeaderLock> {
  if (databaseUrl === null) return processLock();
  const { postgresLeaderLock } = await import('../../store/postgres/leader-lock.ts');
  return postgresLeaderLock(databaseUrl);
}
