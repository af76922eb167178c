import type { Clock } from '../../../../core/clock.ts';
import type { Reading } from '../reading.ts';
import type { Feed, FeedName, Feeds, FeedValues } from '../sources/feeds.ts';
import type { Fetched, OnCall, SourceName } from '../sources/source.ts';
import { GuardedSource } from './guarded-source.ts';
import { type CachedReading, ReadingCache } from './reading-cache.ts';
import type { ProviderState } from './snapshot.ts';

/** One per process, shared by all workers, so that many workers make one call. */
export interface ProviderClient {
  /** Feeds with at least one source. */
  readonly offered: readonly FeedName[];
  /** Returns at once with a usable cached value, else a promise of the fetch. Never rejects. */
  ask<F extends FeedName>(feed: F, key: string): Reading<FeedValues[F]> | Promise<Reading<FeedValues[F]>>;
  size(): number;
  /** Fetches that have ended since the start. */
  changes(): number;
  /** What a restart keeps. */
  state(): ProviderState;
  restore(state: ProviderState): void;
}

export interface ProviderClientOptions {
  readonly feeds: Feeds;
  readonly clock: Clock;
  readonly onCall?: OnCall;
  /** How long a caller waits for a fresh value before it gets a stale one, milliseconds. */
  readonly patienceMs?: number;
  readonly entriesMax?: number;
}

/** Less than the patience of a worker (`worker-providers.ts`), so that the stale value arrives in time. */
const PATIENCE_MS = 1300;
const ENTRIES_MAX = 20_000;
/** Entries in a snapshot: one to two megabytes. */
const SNAPSHOT_MAX = 5000;
/** Lifetime of "not found", milliseconds. */
const MISSING_MS = 600_000;
/** After a failed fetch a stale value is served for this long without another call, milliseconds. */
const REST_MS = 5000;

type Unavailable = Extract<Reading<never>, { kind: 'limited' | 'down' }>;
type Fetching = Promise<CachedReading | Unavailable>;

const DOWN: Unavailable = { kind: 'down' };

/** Cache, single flight, budgets and breakers over all feeds. */
export function makeProviderClient(options: ProviderClientOptions): ProviderClient {
  const { feeds, clock, onCall = () => {}, patienceMs = PATIENCE_MS, entriesMax = ENTRIES_MAX } = options;
  const entries = new ReadingCache(entriesMax);
  const flights = new Map<string, Fetching>();
  /** By entry id: no call before this time, milliseconds since the epoch. */
  const resting = new Map<string, number>();
  let fetches = 0;
  const names = Object.keys(feeds) as FeedName[];
  const guarded = new Map<SourceName, GuardedSource<unknown>>(
    names.flatMap((name) =>
      feeds[name].sources.map(
        (source) => [source.name, new GuardedSource<unknown>(source, clock(), onCall)] as const,
      ),
    ),
  );

  function ask(feedName: FeedName, key: string): Reading<unknown> | Promise<Reading<unknown>> {
    const feed: Feed<unknown> = feeds[feedName];
    if (feed.sources.length === 0) return { kind: 'off' };
    const id = `${feedName} ${key}`;
    const now = clock();
    const entry = usable(entries.get(id), feed, now);
    if (entry !== null && now < entry.freshUntil) return reading(entry);
    if (entry !== null && now < (resting.get(id) ?? 0)) return reading(entry, resting.get(id));
    const flight = flights.get(id) ?? start(id, feed, key, entry);
    if (entry === null || entry.value === null) {
      return flight.then((result) => ('kind' in result ? result : reading(result)));
    }
    if (now - entry.freshUntil < feed.ttlMs) return reading(entry, now + 1000);
    return patiently(flight, entry);
  }

  /** The new value if it arrives in time, else the old one. */
  async function patiently(flight: Fetching, entry: CachedReading): Promise<Reading<unknown>> {
    let timer: NodeJS.Timeout | undefined;
    const patience = new Promise<null>((resolve) => {
      timer = setTimeout(resolve, patienceMs, null);
    });
    const result = await Promise.race([flight, patience]);
    clearTimeout(timer);
    if (result !== null && !('kind' in result)) return reading(result);
    return reading(entry, clock() + 1000);
  }

  function start(id: string, feed: Feed<unknown>, key: string, entry: CachedReading | null): Fetching {
    const flight = fetchFirst(feed, key, entry).then((result) => {
      flights.delete(id);
      fetches++;
      if ('kind' in result) {
        if (entry?.value != null) resting.set(id, clock() + REST_MS);
      } else {
        resting.delete(id);
        entries.set(id, result);
      }
      if (resting.size > entriesMax) resting.clear();
      return result;
    });
    flights.set(id, flight);
    return flight;
  }

  /** Asks the sources in order until one answers. Only the first can report that nothing exists. */
  async function fetchFirst(feed: Feed<unknown>, key: string, entry: CachedReading | null): Fetching {
    let waitMs = Number.POSITIVE_INFINITY;
    let missing: CachedReading | null = null;
    for (const [index, source] of feed.sources.entries()) {
      const isHolder = entry?.source === source.name;
      // The source has announced that it has nothing newer yet.
      if (isHolder && clock() < entry.notBefore) continue;
      const guard = guarded.get(source.name)!;
      const validator = isHolder ? entry.validator : null;
      const fetched = await guard.load(key, validator, clock);
      const found = entryOf(fetched, feed, source.name, entry, clock());
      if (found !== null && found.value !== null) return found;
      if (found !== null && index === 0) {
        missing = found;
        if (!feed.asksNextWhenMissing) break;
      }
      if (fetched.kind === 'limited') waitMs = Math.min(waitMs, fetched.waitMs);
    }
    if (missing !== null) return missing;
    return Number.isFinite(waitMs)
      ? { kind: 'limited', retryAfter: Math.max(1, Math.ceil(waitMs / 1000)) }
      : DOWN;
  }

  return {
    offered: names.filter((name) => feeds[name].sources.length > 0),
    ask: ask as ProviderClient['ask'],
    size: () => entries.size,
    changes: () => fetches,
    state: () => ({
      entries: entries.latest(SNAPSHOT_MAX),
      budgets: Array.from(guarded, ([name, { budget }]) => [name, budget.state()] as const),
    }),
    restore(state) {
      const now = clock();
      for (const [id, entry] of state.entries) {
        const feed = feeds[id.split(' ', 1)[0] as FeedName] as Feed<unknown> | undefined;
        if (feed !== undefined && usable(entry, feed, now) !== null) entries.set(id, entry);
      }
      for (const [name, budget] of state.budgets) guarded.get(name)?.budget.restore(budget, now);
    },
  };
}

/** The entry, unless it is too old, or in the future because the clock was set back. */
function usable(entry: CachedReading | null, feed: Feed<unknown>, now: number): CachedReading | null {
  if (entry === null || entry.at > now) return null;
  const end = entry.value === null ? entry.freshUntil : Math.max(entry.freshUntil, entry.at + feed.staleMs);
  return now < end ? entry : null;
}

function reading(entry: CachedReading, until = entry.freshUntil): Reading<unknown> {
  const { value, time, at, freshUntil } = entry;
  return value === null ? { kind: 'missing', until } : { kind: 'value', value, time, at, freshUntil, until };
}

/**
 * Upper limit of `notBefore`, in lifetimes: two hours for weather. The value itself becomes stale after one lifetime.
 */
const NOT_BEFORE_MAX = 12;

function entryOf(
  fetched: Fetched<unknown>,
  feed: Feed<unknown>,
  source: SourceName,
  previous: CachedReading | null,
  now: number,
): CachedReading | null {
  if (fetched.kind === 'missing') {
    const freshUntil = now + MISSING_MS;
    return { value: null, time: now, at: now, freshUntil, notBefore: 0, source, validator: null };
  }
  if (fetched.kind !== 'value' && fetched.kind !== 'unchanged') return null;
  const freshUntil = now + feed.ttlMs;
  const notBefore = Math.min(now + feed.ttlMs * NOT_BEFORE_MAX, fetched.notBefore ?? 0);
  const times = { at: now, freshUntil, notBefore };
  if (fetched.kind === 'value') {
    const { value, validator = null } = fetched;
    // The clock of the source may be ahead: no value is dated into the future.
    return { value, time: Math.min(fetched.time ?? now, now), ...times, source, validator };
  }
  return previous === null || previous.source !== source ? null : { ...previous, ...times };
}
