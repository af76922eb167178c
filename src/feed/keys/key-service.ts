/** Hourly keys on the control side: made in time, the same in all its processes, delivered to the nodes, destroyed. */
import type { Clock } from '../../base/clock.ts';
import { loop } from '../../base/lifecycle/loop.ts';
import { realTimers, type Timers } from '../../base/lifecycle/timers.ts';
import { createWaker } from '../../base/lifecycle/waker.ts';
import { type Bus, SUBJECTS } from '../bus/bus.ts';
import type { BatchSecrets } from '../message/batch.ts';
import { type FeedKeyRing, type FeedSigner, KEY_OCTETS } from '../message/message.ts';
import type { NodeList } from '../nodes/nodes.ts';
import type { FeedKeyStore } from '../ports/feed-store.ts';
import { createDeliveries } from './deliveries.ts';
import {
  type HeldKeys,
  type HourlyKey,
  holdKeys,
  keptPeriods,
  neededPeriods,
  periodOf,
  writeKeys,
} from './hourly-keys.ts';

interface KeyServiceOptions {
  readonly store: FeedKeyStore;
  /** Not closed by the service. */
  readonly bus: Bus;
  readonly nodes: NodeList;
  readonly signer: FeedSigner;
  readonly random: (octets: number) => Uint8Array;
  readonly clock: Clock;
  readonly timers?: Timers;
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
  const { store, bus, nodes, signer, random, clock, timers = realTimers, pollMs = 1_000, onError } = options;
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
    for (const period of missing) await store.add({ period, secret: random(KEY_OCTETS) });
    // Another process may have been first.
    if (missing.length > 0) rows = await store.read();
    if (held.isSame(rows)) return;
    held = holdKeys(rows);
    if (held.present(clock()) !== null) ready.resolve();
    if (!ending.signal.aborted) await deliveries.all();
  }

  const deliveries = createDeliveries({
    bus,
    nodes,
    clock,
    timers,
    ask: 'keys',
    subject: SUBJECTS.askKeys,
    refresh,
    write({ name }, publicKey, at, question) {
      const keys = held.readable(clock());
      return keys.length === 0 ? null : writeKeys({ node: name, at, keys }, publicKey, signer, question);
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
      if (key !== null) return { key, signer, random };
      waker.wake();
      throw new KeyMissingError();
    },
    ring: () => held.ring(clock()),
    readable: () => held.readable(clock()),
    async renew() {
      await store.replaceAll({ period: periodOf(clock()), secret: random(KEY_OCTETS) });
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
