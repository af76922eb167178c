import type { Clock } from '../../../../core/clock.ts';
import type { Reading } from '../reading.ts';
import type { Feed, FeedName, Feeds, FeedValues } from '../sources/feeds.ts';
import type { Fetched, OnCall, SourceName } from '../sources/source.ts';
import { GuardedSource } from './guarded-source.ts';
import type { CachedReading } from './reading-cache.ts';
import { makeReadingClient, type Unavailable } from './reading-client.ts';
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

/** Lifetime of "not found", milliseconds. */
const MISSING_MS = 600_000;
const DOWN: Unavailable = { kind: 'down' };

/** Cache, single flight, budgets and breakers over all feeds. */
export function makeProviderClient(options: ProviderClientOptions): ProviderClient {
  const { feeds, clock, onCall = () => {}, patienceMs, entriesMax } = options;
  const names = Object.keys(feeds) as FeedName[];
  const guarded = new Map<SourceName, GuardedSource<unknown>>(
    names.flatMap((name) =>
      feeds[name].sources.map(
        (source) => [source.name, new GuardedSource<unknown>(source, clock(), onCall)] as const,
      ),
    ),
  );
  const readings = makeReadingClient({
    timesOf(name) {
      const feed: Feed<unknown> | undefined = feeds[name];
      return feed === undefined || feed.sources.length === 0 ? null : feed;
    },
    load: (name, key, entry) => fetchFirst(feeds[name], key, entry),
    clock,
    patienceMs,
    entriesMax,
  });

  /** Asks the sources in order until one answers. Only the first can report that nothing exists. */
  async function fetchFirst(
    feed: Feed<unknown>,
    key: string,
    entry: CachedReading | null,
  ): Promise<CachedReading | Unavailable> {
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
    ask: (name, key) => readings.ask(name, key),
    size: () => readings.size(),
    changes: () => readings.changes(),
    state: () => ({
      entries: readings.entries(),
      budgets: Array.from(guarded, ([name, { budget }]) => [name, budget.state()] as const),
    }),
    restore(state) {
      const now = clock();
      readings.restore(state.entries);
      for (const [name, budget] of state.budgets) guarded.get(name)?.budget.restore(budget, now);
    },
  };
}

/** Upper limit of `notBefore`, in lifetimes: two hours for weather. The value itself becomes stale after one lifetime. */
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
