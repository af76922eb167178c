import { MessageChannel, type MessagePort } from 'node:worker_threads';
import type { ProviderClient } from './client.ts';
import type { FeedName, FeedValues } from './feeds.ts';
import type { Reading } from './outcome.ts';

/** Interface of the services to provider data, in their thread. */
export interface Providers {
  has(feed: FeedName): boolean;
  /** Returns at once when this thread has the value. Never rejects. `key` in the spelling of the feed: one key per thing. */
  ask<F extends FeedName>(
    feed: F,
    key: string,
    now: number,
  ): Reading<FeedValues[F]> | Promise<Reading<FeedValues[F]>>;
}

export interface Question {
  readonly id: number;
  readonly feed: FeedName;
  readonly key: string;
}

export interface ReadingOfQuestion {
  readonly id: number;
  readonly reading: Reading<unknown>;
}

export interface WorkerProvidersOptions {
  readonly port: MessagePort;
  readonly offered: readonly FeedName[];
  /** How long a question waits, milliseconds. */
  readonly patienceMs?: number;
  readonly entriesMax?: number;
  /** Questions per second for keys that this thread has not cached. */
  readonly newPerSecond?: number;
}

/** Milliseconds until a question without an answer gets E011 (docs/SERVICES.md). */
const PATIENCE_MS = 1500;
const ENTRIES_MAX = 8192;
/** Bounds the cost of a flood of unknown keys in the main thread. */
const NEW_PER_SECOND = 200;

const LATE: Reading<never> = { kind: 'late' };
const OFF: Reading<never> = { kind: 'off' };
const BUSY: Reading<never> = { kind: 'limited', retryAfter: 1 };

interface Local {
  readonly reading: Reading<unknown>;
  readonly until: number;
}

/** Provider data for one worker: a small cache, and one question at a time for each key. */
export function openWorkerProviders(options: WorkerProvidersOptions): Providers {
  const { port, offered } = options;
  const { patienceMs = PATIENCE_MS, entriesMax = ENTRIES_MAX, newPerSecond = NEW_PER_SECOND } = options;
  const feeds: ReadonlySet<FeedName> = new Set(offered);
  const local = new Map<string, Local>();
  const pending = new Map<string, Promise<Reading<unknown>>>();
  const waiting = new Map<number, (reading: Reading<unknown>) => void>();
  let lastId = 0;
  let second = 0;
  let newOnes = 0;

  port.on('message', ({ id, reading }: ReadingOfQuestion) => {
    waiting.get(id)?.(reading);
    waiting.delete(id);
  });
  // The sockets of a worker keep it alive, not this port.
  port.unref();

  function ask(feed: FeedName, key: string, now: number): Reading<unknown> | Promise<Reading<unknown>> {
    if (!feeds.has(feed)) return OFF;
    const name = `${feed} ${key}`;
    const known = local.get(name);
    if (known !== undefined && now < known.until) return known.reading;
    const answer = pending.get(name);
    if (answer !== undefined) return answer;
    if (known === undefined && !admitNew(now)) return BUSY;
    return question(name, feed, key);
  }

  function admitNew(now: number): boolean {
    const at = Math.floor(now / 1000);
    if (at !== second) {
      second = at;
      newOnes = 0;
    }
    return ++newOnes <= newPerSecond;
  }

  /** The reading, or `late`. Concurrent questions for a key share one promise. */
  function question(name: string, feed: FeedName, key: string): Promise<Reading<unknown>> {
    const id = ++lastId;
    const answer = new Promise<Reading<unknown>>((resolve) => {
      const patience = setTimeout(resolve, patienceMs, LATE);
      waiting.set(id, (reading) => {
        clearTimeout(patience);
        pending.delete(name);
        keep(name, reading);
        resolve(reading);
      });
    });
    pending.set(name, answer);
    port.postMessage({ id, feed, key } satisfies Question);
    return answer;
  }

  function keep(name: string, reading: Reading<unknown>): void {
    local.delete(name);
    if (reading.kind !== 'value' && reading.kind !== 'missing') return;
    local.set(name, { reading, until: reading.until });
    if (local.size <= entriesMax) return;
    const { value: first, done } = local.keys().next();
    if (done !== true) local.delete(first);
  }

  return { has: (feed) => feeds.has(feed), ask: ask as Providers['ask'] };
}

/** Connects a worker to the provider client. Returns the worker's port; closing it closes both ends. */
export function connectWorker(client: ProviderClient): MessagePort {
  const { port1: ours, port2: theirs } = new MessageChannel();
  ours.on('message', ({ id, feed, key }: Question) => {
    const reading = client.ask(feed, key);
    const send = (answer: ReadingOfQuestion): void => ours.postMessage(answer);
    if (reading instanceof Promise) void reading.then((late) => send({ id, reading: late }));
    else send({ id, reading });
  });
  // The port must not keep either side alive.
  ours.unref();
  return theirs;
}
