/** What a control process does for the nodes of a feed, whatever carries it: sends the log, keys and secrets, and answers what nodes ask. */
import { type Random, realRandom } from '../../base/chance.ts';
import { databaseOf } from '../../base/ids.ts';
import { closeAll } from '../../base/lifecycle/close.ts';
import type { Timers } from '../../base/lifecycle/timers.ts';
import { aesGcmEncryption } from '../../base/seal.ts';
import type { Clock } from '../../base/time.ts';
import type { NodeProgress, Nodes } from '../../control/usage/propagation.ts';
import type { Bus } from '../../feed/bus/bus.ts';
import { startKeyService, startSecretsService } from '../../feed/keys/control-keys.ts';
import type { HourlyKey } from '../../feed/keys/hourly-keys.ts';
import type { FeedVerifier } from '../../feed/message/keys.ts';
import { type ControlEnd, type ControlIdentity, controlRpc, operatorEnd } from '../../feed/message/rpc.ts';
import { startMeter } from '../../feed/nodes/meter.ts';
import {
  collectNodeStates,
  isNodeBehind,
  type NodeReport,
  type NodeStates,
} from '../../feed/nodes/node-states.ts';
import { type NodeList, verifiersOf } from '../../feed/nodes/nodes.ts';
import { type PublisherReport, startCommands, startStatus } from '../../feed/nodes/operator.ts';
import { answerProviderAsks } from '../../feed/nodes/provider-asks.ts';
import type { LeaderLock } from '../../feed/ports/feed-store.ts';
import type { NodeKeys } from '../../feed/ports/node-keys.ts';
import { type PublisherEvent, startPublisher } from '../../feed/publish/publisher.ts';
import { startResponder } from '../../feed/publish/responder.ts';
import { keptSnapshots } from '../../feed/snapshots/snapshot-reader.ts';
import { deriveKey, type Secret } from '../../ops/config/data-dir.ts';
import type { FeedNow } from '../../ops/telemetry/feed-metrics.ts';
import type { ProviderClient } from '../../services/providers/client.ts';
import { answerAsk } from '../../services/providers/remote.ts';
import { queryLogSink } from '../../store/query-log/add-rows.ts';
import { FEED_KEYS_LABEL, feedKeyStore } from '../../store/server-keys.ts';
import { renewEpoch } from '../../store/service-facts.ts';
import type { Store } from '../../store/store.ts';
import { existingNamespaces, usageSink } from '../../store/usage.ts';

/** What makes snapshots gets of the feed. */
export interface SnapshotParts {
  readonly operator: ControlEnd;
  readonly keys: () => readonly HourlyKey[];
  /** Whether this process publishes. */
  readonly isLeading: () => boolean;
}

export interface ControlSnapshots {
  /** Seconds since the last one was made; null: this process has made none. */
  age(): number | null;
  stop(): Promise<void>;
}

export interface FeedWorkOptions {
  readonly store: Store;
  readonly secret: Secret;
  readonly bus: Bus;
  readonly nodes: NodeList;
  readonly lock: LeaderLock;
  readonly identity: ControlIdentity;
  readonly verifier: FeedVerifier;
  /** Those of the nodes; else the keys that `nodes` has. */
  readonly verifierOf?: ControlEnd['verifierOf'];
  /** What nodes get of signing keys, cookie and ticket secrets. */
  readonly nodeKeys: NodeKeys;
  /** Calls providers for all nodes. */
  readonly providers: Pick<ProviderClient, 'ask'>;
  /** The publisher does not begin before. */
  readonly connected: Promise<unknown>;
  readonly openSnapshots: (parts: SnapshotParts) => ControlSnapshots;
  readonly clock: Clock;
  /** Without them each part has those that suit it. */
  readonly timers?: Timers | undefined;
  readonly random?: Random;
  readonly onRefused: NonNullable<ControlEnd['onRefused']>;
  readonly onExchangeFailed: (error: unknown) => void;
  readonly onEvent: (event: PublisherEvent, error?: unknown) => void;
  readonly onLeftOut: (answers: number) => void;
}

export interface ControlFeed {
  now(): FeedNow;
  /** How far each node is, as it told last. */
  readonly nodes: Nodes;
  /** Nodes where this signing key is not ready, or that are late. */
  nodesBehind(zone: string, keyTag: number): number;
  stop(): Promise<void>;
}

export async function startFeedWork(options: FeedWorkOptions): Promise<ControlFeed> {
  const { store, secret, bus, nodes, identity, verifier, clock, timers, onEvent } = options;
  const { random = realRandom } = options;
  const database = databaseOf((await store.changes.bounds()).epoch);
  let conflicts = 0;
  const own = { bus, clock, onRefused: options.onRefused, onError: options.onExchangeFailed };
  const secrets = () => keys.secrets();
  const end: ControlEnd = {
    ...own,
    verifierOf: options.verifierOf ?? verifiersOf(() => nodes.current(), verifier),
    ring: () => keys.ring(),
    signing: { signer: identity.signer, random },
    secrets,
  };
  const operator = operatorEnd(identity, verifier, { ...own, random });
  const onError = (error: unknown): void => onEvent('failed', error);
  const keys = startKeyService({
    // Without a cache: decrypted keys must not outlive their rows.
    store: feedKeyStore(store, aesGcmEncryption(deriveKey(secret, FEED_KEYS_LABEL, 32), random, 0)),
    end,
    nodes,
    timers,
    onError,
  });
  const stopSecrets = startSecretsService({
    source: options.nodeKeys,
    database,
    end,
    nodes,
    timers,
    onError,
  });
  await options.connected;
  const publisher = startPublisher({
    source: store.changes,
    bus,
    lock: options.lock,
    secrets,
    verifier,
    clock,
    timers,
    onEvent(event, error) {
      if (event === 'conflict') conflicts++;
      onEvent(event, error);
    },
  });
  const stopCommands = startCommands({
    end: operator,
    renewKeys: () => keys.renew(),
    renewEpoch: () => store.write((tx) => renewEpoch(tx, clock())),
  });
  const stopAnswers = startResponder({ source: store.changes, end, timers });
  const snapshots = options.openSnapshots({
    operator,
    keys: () => keys.readable(),
    isLeading: () => publisher.status().seq !== null,
  });
  const exchange = openControlExchange({
    ...options,
    random,
    end,
    operator,
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
      ]),
  };
}

function progressOf({ name, state, appliedAt, late }: NodeReport): NodeProgress {
  const { seq, epoch } = state ?? { seq: null, epoch: null };
  // A node tells when it got its last change, and not when it got those before.
  return { name, seq, epoch, isLate: late, appliedAt: (asked) => (asked === seq ? appliedAt : null) };
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
  readonly onLeftOut: (answers: number) => void;
  readonly random: Random;
  readonly timers?: Timers | undefined;
}

interface ControlExchange {
  readonly states: NodeStates;
  /** In the order in which they must end. */
  readonly stops: readonly (() => void | Promise<void>)[];
}

function openControlExchange(options: ControlExchangeOptions): ControlExchange {
  const { end, operator, identity, nodes, verifier, store, providers, onLeftOut, random, timers } = options;
  const { bus, clock } = end;
  const states = collectNodeStates({
    end,
    names: () => nodes.current().map(({ name }) => name),
    elapsed: timers?.elapsed,
  });
  return {
    states,
    stops: [
      startMeter({
        end,
        usage: usageSink(store, clock),
        queryLog: queryLogSink(store, clock),
        existing: (ids) => existingNamespaces(store, ids),
        onLeftOut,
      }),
      answerProviderAsks(end, answerAsk(providers, clock)),
      startStatus({
        end: operator,
        rpc: controlRpc(identity, { bus, verifier, random, clock }),
        verifier,
        states,
        publisher: options.publisher,
        bounds: () => store.changes.bounds(),
        snapshots: () => keptSnapshots(bus, verifier, clock),
        timers,
      }),
      () => states.stop(),
    ],
  };
}
