/** The provider client of an edge with a feed: it asks control, which calls the providers, so that their quotas are spent once. */

import { realTimers, type Timers } from '../../base/lifecycle/timers.ts';
import type { Clock } from '../../base/time.ts';
import { GRID } from '../weather-sources.ts';
import { ASKER_SHARES, type Asker, Budget } from './budget.ts';
import type { ProviderClient } from './client.ts';
import { type FeedName, LIFETIMES } from './feeds.ts';
import type { Reading } from './outcome.ts';
import { type CachedReading, makeReadingClient, type Unavailable } from './readings.ts';

/** Never rejects: `down` when control cannot be reached. @param share of the asker: control adds the node's name */
export type AskControl = (feed: FeedName, key: string, share: number) => Promise<RemoteReading>;

/** Questions of a node to control, 90 % of which are used: fewer than control takes (`provider-asks.ts`), and shared by those who ask. */
const ASKS = { calls: 200, perMs: 1000 } as const;

/** Cache, single flight and stale rules are those of the provider client. Budgets and breakers are at control. */
export function makeRemoteClient({
  ask,
  clock,
}: {
  readonly ask: AskControl;
  readonly clock: Clock;
}): ProviderClient {
  const budget = new Budget([ASKS], clock());
  const readings = makeReadingClient({
    timesOf: (feed) => LIFETIMES[feed] ?? null,
    async load(feed, key, _entry, asker) {
      const waitMs = budget.take(clock(), { ...asker, feed });
      if (waitMs > 0) return { kind: 'limited', retryAfter: Math.ceil(waitMs / 1000) };
      return cachedReading(await ask(feed, key, asker.share), clock());
    },
    clock,
  });
  return {
    // Which feeds control has is in its answers: `off` for the others.
    offered: Object.keys(LIFETIMES) as FeedName[],
    ask: (name, key, asker) => readings.ask(name, key, asker),
    size: () => readings.size(),
    changes: () => readings.changes(),
    state: () => ({ entries: readings.entries(), budgets: [] }),
    restore: (state) => readings.restore(state.entries),
  };
}

/** A reading on its way from control to an edge. Ages in place of times, because their clocks may differ. */
type RemoteReading =
  | {
      readonly kind: 'value';
      readonly value: unknown;
      /** The source's time of the value, milliseconds since the epoch. */
      readonly time: number;
      /** Milliseconds since it was fetched, and until the end of its lifetime; below 0: it is stale. */
      readonly ageMs: number;
      readonly leftMs: number;
    }
  | { readonly kind: 'missing'; readonly leftMs: number }
  | Unavailable;

function remoteReading(reading: Reading<unknown>, now: number): RemoteReading {
  if (reading.kind === 'missing') return { kind: 'missing', leftMs: reading.until - now };
  if (reading.kind !== 'value') return reading;
  const { value, time, at, freshUntil } = reading;
  return { kind: 'value', value, time, ageMs: Math.max(0, now - at), leftMs: freshUntil - now };
}

/** What the cache of the edge keeps. @param now of the edge's clock */
function cachedReading(remote: RemoteReading, now: number): CachedReading | Unavailable {
  const rest = { notBefore: 0, source: 'control', validator: null } as const;
  if (remote.kind === 'missing') {
    return { value: null, time: now, at: now, freshUntil: now + remote.leftMs, ...rest };
  }
  if (remote.kind !== 'value') return remote;
  const { value, time, ageMs, leftMs } = remote;
  return { value, time, at: now - ageMs, freshUntil: now + leftMs, ...rest };
}

/** Milliseconds until an edge is told that the fetch still runs. It goes on, and the next question has its result. */
const PATIENCE_MS = 2_000;

/** @returns null for a feed, a key or a share that no edge asks for: a key becomes part of a URL */
export function answerAsk(
  client: Pick<ProviderClient, 'ask'>,
  clock: Clock,
  timers: Timers = realTimers,
): (feed: string, key: string, asker: Asker) => Promise<RemoteReading | null> {
  return async (feed, key, asker) => {
    if (!isKey(feed, key) || !isShare(asker.share)) return null;
    const reading = client.ask(feed as FeedName, key, asker);
    if (!(reading instanceof Promise)) return remoteReading(reading, clock());
    const late = Promise.withResolvers<Reading<unknown>>();
    const cancel = timers.after(PATIENCE_MS, () => late.resolve({ kind: 'late' }));
    const first = await Promise.race([reading, late.promise]);
    cancel();
    return remoteReading(first, clock());
  };
}

const PAIR = /^[A-Za-z0-9]{1,16}-[A-Za-z0-9]{1,16}$/;
const TICKER = /^[A-Za-z0-9]{1,12}(?:[.-][A-Za-z0-9]{1,4})?$/;
const CELL = /^(-?\d{1,6})_(-?\d{1,6})$/;

function isShare(share: number): boolean {
  return Number.isInteger(share) && share >= 0 && share < ASKER_SHARES;
}

/** The spelling of each feed's keys: those that the services of an edge make. */
function isKey(feed: string, key: string): boolean {
  if (feed === 'forex' || feed === 'crypto') return PAIR.test(key);
  if (feed === 'stock') return TICKER.test(key);
  const cell = feed === 'meteo' ? CELL.exec(key) : null;
  return cell !== null && Math.abs(Number(cell[1])) <= 90 * GRID && Math.abs(Number(cell[2])) <= 180 * GRID;
}
