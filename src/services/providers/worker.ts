import { MessageChannel, type MessagePort } from 'node:worker_threads';
import { realTimers } from '../../base/lifecycle/timers.ts';
import { type Asker, Shares } from './budget.ts';
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
  readonly share: number;
}

export interface ReadingOfQuestion {
  readonly id: number;
  readonly reading: Reading<unknown>;
}

export interface WorkerProvidersOptions {
  readonly port: MessagePort;
  readonly offered: readonly FeedName[];
  /** The share of who asks now (`Asker`). It goes past the services: they get labels and time only. */
  readonly shareNow: () => number;
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

interface Pending {
  readonly share: number;
  readonly answer: Promise<Reading<unknown>>;
}

interface Local {
  readonly reading: Reading<unknown>;
  /** When it was asked for. Before this time it is void, because the clock was set back. */
  readonly since: number;
  readonly until: number;
}

/** Provider data for one worker: a small cache, and one question at a time for each key. */
export function openWorkerProviders(options: WorkerProvidersOptions): Providers {
  const { port, offered, shareNow } = options;
  const { patienceMs = PATIENCE_MS, entriesMax = ENTRIES_MAX, newPerSecond = NEW_PER_SECOND } = options;
  const feeds: ReadonlySet<FeedName> = new Set(offered);
  const local = new Map<string, Local>();
  const pending = new Map<string, Pending>();
  const waiting = new Map<number, (reading: Reading<unknown>) => void>();
  let lastId = 0;
  let second = 0;
  let newOnes = 0;
  const shares = new Shares();

  port.on('message', ({ id, reading }: ReadingOfQuestion) => {
    waiting.get(id)?.(reading);
    waiting.delete(id);
  });
  // The sockets of a worker keep it alive, not this port.
  port.unref();

  function ask(
    feed: FeedName,
    key: string,
    now: number,
    share = shareNow(),
  ): Reading<unknown> | Promise<Reading<unknown>> {
    if (!feeds.has(feed)) return OFF;
    const name = `${feed} ${key}`;
    const known = local.get(name);
    if (known !== undefined && now >= known.since && now < known.until) return known.reading;
    const other = pending.get(name);
    if (other !== undefined) {
      if (other.share === share) return other.answer;
      // That the other one had no room says nothing to this one.
      return other.answer.then((reading) =>
        reading.kind === 'limited' ? ask(feed, key, now, share) : reading,
      );
    }
    return known !== undefined || admitNew(feed, now, share) ? question(name, feed, key, now, share) : BUSY;
  }

  function admitNew(feed: FeedName, now: number, share: number): boolean {
    const at = Math.floor(now / 1000);
    if (at !== second) {
      second = at;
      newOnes = 0;
      shares.keep(0);
    }
    const asker: Asker = { node: '', share, feed };
    if (!shares.hasRoom(asker, newPerSecond - newOnes)) return false;
    newOnes++;
    shares.take(asker);
    return true;
  }

  /** The reading, or `late`. Concurrent questions for a key share one promise. */
  function question(
    name: string,
    feed: FeedName,
    key: string,
    now: number,
    share: number,
  ): Promise<Reading<unknown>> {
    const id = ++lastId;
    const answer = new Promise<Reading<unknown>>((resolve) => {
      const cancel = realTimers.after(patienceMs, () => resolve(LATE));
      waiting.set(id, (reading) => {
        cancel();
        pending.delete(name);
        keep(name, reading, now);
        resolve(reading);
      });
    });
    pending.set(name, { share, answer });
    port.postMessage({ id, feed, key, share } satisfies Question);
    return answer;
  }

  function keep(name: string, reading: Reading<unknown>, since: number): void {
    local.delete(name);
    if (reading.kind !== 'value' && reading.kind !== 'missing') return;
    local.set(name, { reading, since, until: reading.until });
    if (local.size <= entriesMax) return;
    const { value: first, done } = local.keys().next();
    if (done !== true) local.delete(first);
  }

  return { has: (feed) => feeds.has(feed), ask: ask as Providers['ask'] };
}

/** Connects a worker to the provider client. Returns the worker's port; closing it closes both ends. */
export function connectWorker(client: ProviderClient): MessagePort {
  const { port1: ours, port2: theirs } = new MessageChannel();
  ours.on('message', ({ id, feed, key, share }: Question) => {
    const reading = client.ask(feed, key, { node: '', share });
    const send = (answer: ReadingOfQuestion): void => ours.postMessage(answer);
    if (reading instanceof Promise) void reading.then((late) => send({ id, reading: late }));
    else send({ id, reading });
  });
  // The port must not keep either side alive.
  ours.unref();
  return theirs;
}
