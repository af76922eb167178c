/** Hourly keys on the control side: made in time, the same in all its processes, delivered to the nodes, destroyed. */

import { createPublicKey, type KeyObject } from 'node:crypto';
import { createWaker, loop } from '../../base/lifecycle/loop.ts';
import { realTimers, type Timers } from '../../base/lifecycle/timers.ts';
import { keysSubject } from '../bus/bus.ts';
import type { BatchSecrets } from '../message/batch.ts';
import { FEED_KEY_OCTETS, type FeedKeyRing } from '../message/keys.ts';
import { writeMessage } from '../message/message.ts';
import { answerPlain, type ControlEnd, type ControlReply } from '../message/rpc.ts';
import type { FeedNode, NodeList } from '../nodes/nodes.ts';
import { CONTROL_NAME } from '../ports/credentials.ts';
import type { FeedKeyStore } from '../ports/feed-store.ts';
import { type NodeKeys, type NodeSecrets, secretsMark } from '../ports/node-keys.ts';
import {
  type HeldKeys,
  type HourlyKey,
  holdKeys,
  keptPeriods,
  keyPeriodOf,
  neededPeriods,
  printHourlyKeys,
} from './hourly-keys.ts';
import { printSecrets } from './secrets.ts';

interface KeyServiceOptions {
  readonly store: FeedKeyStore;
  /** Its keys may be those of this service. */
  readonly end: ControlEnd;
  readonly nodes: NodeList;
  readonly timers?: Timers | undefined;
  /** Milliseconds until a key that another process replaced, or a step of the clock, is noticed. */
  readonly pollMs?: number;
  /** The store cannot be read or written; called for each failed attempt, with how many in a row. */
  readonly onError?: (error: unknown, failures: number) => void;
}

export interface KeyService {
  /** Resolves when there is a key to write with. */
  readonly ready: Promise<void>;
  /** @throws KeyMissingError while the store cannot be reached for longer than the next key was made ahead */
  secrets(): BatchSecrets;
  ring(): FeedKeyRing;
  /** Those that are readable now, for a process of the same control. */
  readable(): readonly HourlyKey[];
  /**
   * Destroys all keys, and makes and delivers a new one. What was written before is unreadable from then on. Other processes use the new
   * key within two seconds.
   */
  renew(): Promise<void>;
  stop(): Promise<void>;
}

export class KeyMissingError extends Error {
  override readonly name = 'KeyMissingError';

  constructor() {
    super('there is no key of this hour: the database could not be reached when it was due');
  }
}

/** Every node gets its keys again in this time, because the bus may lose messages. */
const REPEAT_MS = 60_000;

export function startKeyService(options: KeyServiceOptions): KeyService {
  const { store, end, nodes, timers = realTimers, pollMs = 1_000, onError } = options;
  const { clock, signing } = end;
  const ending = new AbortController();
  const waker = createWaker(ending.signal, timers);
  const ready = Promise.withResolvers<void>();
  let held: HeldKeys = holdKeys([]);
  let refreshing: Promise<void> | null = null;
  const parts = Math.ceil(REPEAT_MS / pollMs);
  let passes = 0;

  /** Calls under way are shared: many nodes may ask at once. */
  function refresh(): Promise<void> {
    refreshing ??= readStore().finally(() => {
      refreshing = null;
    });
    return refreshing;
  }

  async function readStore(): Promise<void> {
    const now = clock();
    const { first, last } = keptPeriods(now);
    let rows = await store.read();
    if (rows.some(({ period }) => period < first || period > last)) {
      await store.keep(first, last);
      rows = rows.filter(({ period }) => period >= first && period <= last);
    }
    const missing = neededPeriods(now).filter((needed) => !rows.some(({ period }) => period === needed));
    for (const period of missing) await store.add({ period, secret: signing.random(FEED_KEY_OCTETS) });
    // Another process may have been first.
    if (missing.length > 0) rows = await store.read();
    if (held.isSame(rows)) return;
    held = holdKeys(rows);
    if (held.present(clock()) !== null) ready.resolve();
    if (!ending.signal.aborted) await deliveries.all();
  }

  const deliveries = createDeliveries({
    end,
    nodes,
    timers,
    kind: 'keys',
    refresh,
    content() {
      const keys = held.readable(clock());
      return keys.length === 0 ? null : printHourlyKeys(keys);
    },
  });

  const ended = loop({
    signal: ending.signal,
    waker,
    async pass() {
      await refresh();
      deliveries.part(passes++ % parts, parts);
      return pollMs;
    },
    backoff: { firstMs: 100, capMs: 2_000 },
    onError: (error, failures) => onError?.(error, failures),
  });
  const unlisten = nodes.onChange(() => void deliveries.all());

  return {
    ready: ready.promise,
    secrets() {
      const key = held.present(clock());
      if (key !== null) return { key, ...signing };
      waker.wake();
      throw new KeyMissingError();
    },
    ring: () => held.ring(clock()),
    readable: () => held.readable(clock()),
    async renew() {
      await store.replaceAll({ period: keyPeriodOf(clock()), secret: signing.random(FEED_KEY_OCTETS) });
      // A reading that began before may have the old keys.
      await refreshing?.catch(() => {});
      await refresh();
    },
    async stop() {
      ending.abort();
      unlisten();
      deliveries.stop();
      await ended;
      await refreshing?.catch(() => {});
    },
  };
}

/** Delivers the secrets of nodes: when they change, once a minute, and to a node that asks. Every control process does so. */

interface SecretsServiceOptions {
  /** What the control side made. */
  readonly source: NodeKeys;
  /** The one that they are of. */
  readonly database: string;
  readonly end: ControlEnd;
  readonly nodes: NodeList;
  readonly timers?: Timers | undefined;
  /** The secrets cannot be read; called for each failed attempt, with how many in a row. Nodes keep those that they have. */
  readonly onError?: (error: unknown, failures: number) => void;
}

const POLL_MS = 1_000;
/** Every node gets its secrets again in so many polls, because the bus may lose messages. */
const REPEAT_POLLS = 60;

/** @returns ends it */
export function startSecretsService(options: SecretsServiceOptions): () => Promise<void> {
  const { source, database, end, nodes, timers = realTimers, onError } = options;
  const ending = new AbortController();
  let held: NodeSecrets | null = null;
  let refreshing: Promise<void> | null = null;
  let passes = 0;

  /** Calls under way are shared: many nodes may ask at once. */
  function refresh(): Promise<void> {
    refreshing ??= readSource().finally(() => {
      refreshing = null;
    });
    return refreshing;
  }

  async function readSource(): Promise<void> {
    const found = await source.read();
    const isNews = held === null || secretsMark(held) !== secretsMark(found);
    held = found;
    if (isNews && !ending.signal.aborted) await deliveries.all();
  }

  const deliveries = createDeliveries({
    end,
    nodes,
    timers,
    kind: 'secrets',
    refresh,
    content: () => held && Buffer.from(printSecrets({ database, secrets: held })),
  });
  const ended = loop({
    signal: ending.signal,
    waker: createWaker(ending.signal, timers),
    async pass() {
      await refresh();
      deliveries.part(passes++ % REPEAT_POLLS, REPEAT_POLLS);
      return POLL_MS;
    },
    backoff: { firstMs: 100, capMs: 2_000 },
    onError: (error, failures) => onError?.(error, failures),
  });
  const unlisten = nodes.onChange(() => void deliveries.all());

  return async () => {
    ending.abort();
    unlisten();
    deliveries.stop();
    await ended;
    await refreshing?.catch(() => {});
  };
}

/** Sends to every node of the feed what is for it alone, and to a node that asks. */

interface DeliveriesOptions {
  readonly end: ControlEnd;
  readonly nodes: NodeList;
  readonly timers: Timers;
  readonly kind: 'keys' | 'secrets';
  /**
   * Asked for each message, so that none has older content than one that was sent before. @returns null: there is nothing to send yet
   */
  readonly content: () => Uint8Array | null;
  /** Called before a question is answered: another process may have replaced what is sent. */
  readonly refresh: () => Promise<void>;
}

interface Deliveries {
  /** Sends to every node. Resolves when all messages were handed to the bus. */
  all(): Promise<void>;
  /** Sends to one part of `parts`, so that a message to all nodes in turn costs little at a time. */
  part(index: number, parts: number): void;
  stop(): void;
}

/** A message takes about 0.3 ms to make. The process has other work between so many. */
const AT_ONCE = 10;
/** Messages of one moment get times in order. */
const SAME_TIME_MS = 1_000;
/** More questions at once are `busy`. */
const QUESTIONS = { all: 64, each: 2 } as const;

function createDeliveries(options: DeliveriesOptions): Deliveries {
  const { end, nodes, timers, kind, content, refresh } = options;
  const publicKeys = new Map<string, KeyObject>();
  let last = 0;

  function publicKeyOf(pem: string): KeyObject {
    const key = publicKeys.get(pem) ?? createPublicKey(pem);
    publicKeys.set(pem, key);
    return key;
  }

  function deliveryTo(node: FeedNode): Required<Pick<ControlReply, 'at' | 'sealed'>> | null {
    const now = end.clock();
    // Nodes refuse what is not later than what they have. After the clock was set back they ask, and believe the answer.
    last = now <= last && now > last - SAME_TIME_MS ? last + 1 : now;
    const plain = content();
    return plain && { at: last, sealed: { recipient: publicKeyOf(node.encrypt), plain } };
  }

  function send(node: FeedNode): void {
    const delivery = deliveryTo(node);
    if (delivery === null) return;
    const fields = { kind, from: CONTROL_NAME, to: node.name, at: delivery.at };
    end.bus.publish(keysSubject(node.name), writeMessage(fields, end.signing, delivery.sealed));
  }

  const stop = answerPlain(end, {
    kinds: [kind],
    atOnce: QUESTIONS,
    async answer({ node: name }) {
      // When the database is away, what is in memory is still right.
      await refresh().catch(() => {});
      const node = nodes.current().find((each) => each.name === name);
      return (node && deliveryTo(node)) ?? { status: 'failed' };
    },
  });

  return {
    async all() {
      publicKeys.clear();
      for (const [i, node] of nodes.current().entries()) {
        if (i > 0 && i % AT_ONCE === 0) await new Promise<void>((resolve) => timers.after(0, resolve));
        // A node may be removed meanwhile.
        if (nodes.current().includes(node)) send(node);
      }
    },
    part(index, parts) {
      for (const [i, node] of nodes.current().entries()) if (i % parts === index) send(node);
    },
    stop,
  };
}
