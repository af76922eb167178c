import { realTimers } from '../../base/lifecycle/timers.ts';
import { type Clock, isAhead } from '../../base/time.ts';
import { type Asker, askerName } from './budget.ts';
import type { Feed, FeedName, FeedValues } from './feeds.ts';
import type { Reading } from './outcome.ts';
import type { SourceName } from './source.ts';

/** Cache, single flight and the rules for stale values, independent of what loads the values. */
interface ReadingClient {
  /** Returns at once with a usable cached value, else a promise of the load. Never rejects. */
  ask<F extends FeedName>(
    feed: F,
    key: string,
    asker: Asker,
  ): Reading<FeedValues[F]> | Promise<Reading<FeedValues[F]>>;
  size(): number;
  /** Loads that have ended since the start. */
  changes(): number;
  /** What a restart keeps. */
  entries(): readonly (readonly [string, CachedReading])[];
  restore(entries: readonly (readonly [string, CachedReading])[]): void;
}

/** Lifetimes of a feed. */
type FeedTimes = Pick<Feed<unknown>, 'ttlMs' | 'staleMs'>;

export type Unavailable = Extract<Reading<never>, { kind: 'limited' | 'late' | 'down' | 'off' }>;

interface ReadingClientOptions {
  /** Null: the feed is off. */
  readonly timesOf: (feed: FeedName) => FeedTimes | null;
  /** Never rejects. @param entry what the cache has, perhaps too old to be used */
  readonly load: (
    feed: FeedName,
    key: string,
    entry: CachedReading | null,
    asker: Asker,
  ) => Promise<CachedReading | Unavailable>;
  readonly clock: Clock;
  /** How long a caller waits for a fresh value before it gets a stale one, milliseconds. */
  readonly patienceMs?: number | undefined;
  readonly entriesMax?: number | undefined;
}

/** Less than the patience of a worker (`worker-providers.ts`), so that the stale value arrives in time. */
const PATIENCE_MS = 1300;
const ENTRIES_MAX = 20_000;
/** Entries in a snapshot: one to two megabytes. */
const SNAPSHOT_MAX = 5000;
/** After a failed load a stale value is served for this long without another one, milliseconds. */
const REST_MS = 5000;
/** A stale value is asked for again after this, milliseconds. */
const STALE_UNTIL_MS = 1000;

type Loading = Promise<CachedReading | Unavailable>;

interface Flight {
  /** `askerName` of who started it. */
  readonly by: string;
  readonly loading: Loading;
}

export function makeReadingClient(options: ReadingClientOptions): ReadingClient {
  const { timesOf, load, clock, patienceMs = PATIENCE_MS, entriesMax = ENTRIES_MAX } = options;
  const entries = new ReadingCache(entriesMax);
  const flights = new Map<string, Flight>();
  /** By entry id, or entry id and asker: no load before this time, milliseconds since the epoch. */
  const resting = new Map<string, number>();
  let loads = 0;

  function ask(feedName: FeedName, key: string, asker: Asker): Reading<unknown> | Promise<Reading<unknown>> {
    const feed = timesOf(feedName);
    if (feed === null) return { kind: 'off' };
    const id = `${feedName} ${key}`;
    const now = clock();
    const entry = usable(entries.get(id), feed, now);
    if (entry !== null && now < entry.freshUntil) return reading(entry);
    const rests = (name: string): boolean => isAhead(resting.get(name) ?? 0, now, REST_MS);
    if (entry !== null && rests(id)) return reading(entry, resting.get(id));
    if (entry !== null && rests(restOf(id, asker))) return reading(entry, now + STALE_UNTIL_MS);
    const loading = loadFor(id, feedName, key, entry, asker);
    if (entry === null || entry.value === null) {
      return loading.then((result) => ('kind' in result ? result : loaded(result)));
    }
    if (now - entry.freshUntil < feed.ttlMs) return reading(entry, now + STALE_UNTIL_MS);
    return patiently(loading, entry);
  }

  /** The new value if it arrives in time, else the old one. */
  async function patiently(loading: Loading, entry: CachedReading): Promise<Reading<unknown>> {
    const patience = Promise.withResolvers<null>();
    const cancel = realTimers.after(patienceMs, () => patience.resolve(null));
    const result = await Promise.race([loading, patience.promise]);
    cancel();
    if (result !== null && !('kind' in result)) return loaded(result);
    return reading(entry, clock() + STALE_UNTIL_MS);
  }

  /** What was loaded now may be stale already, when control has it from a provider that is down. */
  function loaded(entry: CachedReading): Reading<unknown> {
    const now = clock();
    return reading(entry, now < entry.freshUntil ? entry.freshUntil : now + STALE_UNTIL_MS);
  }

  /** One load for all who ask. One whose starter had no room says nothing to others: they try for themselves. */
  async function loadFor(
    id: string,
    feed: FeedName,
    key: string,
    entry: CachedReading | null,
    asker: Asker,
  ): Loading {
    // Those who wait for a flight go on before anybody new asks: each starts one at most.
    for (let flight = flights.get(id); flight !== undefined; flight = flights.get(id)) {
      const result = await flight.loading;
      if (!isLimited(result) || flight.by === askerName(asker)) return result;
    }
    return start(id, feed, key, entry, asker);
  }

  function start(
    id: string,
    feed: FeedName,
    key: string,
    entry: CachedReading | null,
    asker: Asker,
  ): Loading {
    const loading = load(feed, key, entry, asker).then((result) => {
      flights.delete(id);
      loads++;
      if ('kind' in result) {
        const rest = isLimited(result) ? restOf(id, asker) : id;
        if (entry?.value != null) resting.set(rest, clock() + REST_MS);
      } else {
        resting.delete(id);
        entries.set(id, result);
      }
      if (resting.size > entriesMax) resting.clear();
      return result;
    });
    flights.set(id, { by: askerName(asker), loading });
    return loading;
  }

  return {
    ask: ask as ReadingClient['ask'],
    size: () => entries.size,
    changes: () => loads,
    entries: () => entries.latest(SNAPSHOT_MAX),
    restore(kept) {
      const now = clock();
      for (const [id, entry] of kept) {
        const feed = timesOf(id.split(' ', 1)[0] as FeedName);
        if (feed !== null && usable(entry, feed, now) !== null) entries.set(id, entry);
      }
    },
  };
}

function isLimited(result: CachedReading | Unavailable): boolean {
  return 'kind' in result && result.kind === 'limited';
}

/** Who had no room rests alone: another may have. */
function restOf(id: string, asker: Asker): string {
  return `${id} ${askerName(asker)}`;
}

/** The entry, unless it is too old, or in the future because the clock was set back. */
function usable(entry: CachedReading | null, feed: FeedTimes, now: number): CachedReading | null {
  if (entry === null || entry.at > now) return null;
  const end = entry.value === null ? entry.freshUntil : Math.max(entry.freshUntil, entry.at + feed.staleMs);
  return now < end ? entry : null;
}

function reading(entry: CachedReading, until = entry.freshUntil): Reading<unknown> {
  const { value, time, at, freshUntil } = entry;
  return value === null ? { kind: 'missing', until } : { kind: 'value', value, time, at, freshUntil, until };
}

/** Times in milliseconds since the epoch. */
export interface CachedReading {
  /** Null: the provider reported that nothing exists. */
  readonly value: unknown;
  /** The source's time of the value, else the time of the fetch. */
  readonly time: number;
  /** When it was fetched, or last confirmed by the source. */
  readonly at: number;
  readonly freshUntil: number;
  /** No call for this key before this time, as the source requested. */
  readonly notBefore: number;
  /** Source of the value (`control`: on an edge that asks control), and the validator for its next call (RFC 9110 §8.8). */
  readonly source: SourceName | 'control';
  readonly validator: string | null;
}

/** LRU cache by feed and key, with at most `max` entries. */
class ReadingCache {
  private readonly entries = new Map<string, CachedReading>();
  private readonly max: number;

  constructor(max: number) {
    this.max = max;
  }

  get size(): number {
    return this.entries.size;
  }

  get(id: string): CachedReading | null {
    const entry = this.entries.get(id);
    if (entry === undefined) return null;
    this.entries.delete(id);
    this.entries.set(id, entry);
    return entry;
  }

  set(id: string, entry: CachedReading): void {
    this.entries.delete(id);
    this.entries.set(id, entry);
    if (this.entries.size <= this.max) return;
    const { value: first, done } = this.entries.keys().next();
    if (done !== true) this.entries.delete(first);
  }

  delete(id: string): void {
    this.entries.delete(id);
  }

  /** The `count` most recently used entries, in order of use. */
  latest(count: number): readonly (readonly [string, CachedReading])[] {
    return [...this.entries].slice(-count);
  }
}
