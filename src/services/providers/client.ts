import { type Clock, isAhead } from '../../base/time.ts';
import { type Asker, Budget, type BudgetState, Shares } from './budget.ts';
import type { Feed, FeedName, Feeds, FeedValues } from './feeds.ts';
import type { Reading } from './outcome.ts';
import { type CachedReading, makeReadingClient, type Unavailable } from './readings.ts';
import type { Fetched, OnCall, Source, SourceName } from './source.ts';

/** Circuit breaker of one source. Times in milliseconds since the epoch. */
export interface Breaker {
  /** Failures since the last success. */
  readonly failures: number;
  /** No call before this time; then one probe. */
  readonly openUntil: number;
  /** Length of the next pause, milliseconds. */
  readonly pauseMs: number;
}

/** Consecutive failures that open the breaker. */
const FAILURES_MAX = 5;
const PAUSE_FIRST_MS = 15_000;
const PAUSE_MAX_MS = 300_000;

export const CLOSED: Breaker = { failures: 0, openUntil: 0, pauseMs: PAUSE_FIRST_MS };

/** `probing`: a probe is in progress. */
export function mayCall(breaker: Breaker, probing: boolean, now: number): boolean {
  if (breaker.failures < FAILURES_MAX) return true;
  return !isOpen(breaker, now) && !probing;
}

function isOpen({ openUntil }: Breaker, now: number): boolean {
  return isAhead(openUntil, now, PAUSE_MAX_MS);
}

export function succeeded(): Breaker {
  return CLOSED;
}

/** A failed probe doubles the pause, up to five minutes. Calls that started before the breaker opened do not count. */
export function failedAt(breaker: Breaker, now: number): Breaker {
  if (isOpen(breaker, now)) return breaker;
  const failures = breaker.failures + 1;
  if (failures < FAILURES_MAX) return { ...breaker, failures };
  return {
    failures,
    openUntil: now + breaker.pauseMs,
    pauseMs: Math.min(PAUSE_MAX_MS, breaker.pauseMs * 2),
  };
}

/** Concurrent calls to one source. */
const CALLS_MAX = 16;
/** Wait that is reported while all calls are in use, milliseconds. */
const BUSY_MS = 1000;
/** Longest wait that a provider can request, milliseconds. */
const WAIT_MAX_MS = 3_600_000;

/** A source with budget and breaker. A blocked call is `limited`, or `failed` while the breaker is open. */
class GuardedSource<T> {
  readonly source: Source<T>;
  readonly budget: Budget;
  private breaker: Breaker = CLOSED;
  private blockedUntil = 0;
  private calls = 0;
  /** Who has the calls that run. */
  private readonly running = new Shares();
  private probing = false;
  private readonly onCall: OnCall;

  constructor(source: Source<T>, now: number, onCall: OnCall) {
    this.source = source;
    this.onCall = onCall;
    this.budget = new Budget(source.limits, now);
  }

  /** Calls the source if budget and breaker allow it. Never rejects. */
  async load(key: string, validator: string | null, clock: () => number, asker: Asker): Promise<Fetched<T>> {
    const now = clock();
    if (isAhead(this.blockedUntil, now, WAIT_MAX_MS)) {
      return { kind: 'limited', waitMs: this.blockedUntil - now };
    }
    if (!mayCall(this.breaker, this.probing, now)) return { kind: 'failed' };
    if (!this.running.hasRoom(asker, CALLS_MAX - this.calls)) return { kind: 'limited', waitMs: BUSY_MS };
    const waitMs = this.budget.take(now, asker);
    if (waitMs > 0) return { kind: 'limited', waitMs };
    const isProbe = this.breaker.failures >= FAILURES_MAX;
    if (isProbe) this.probing = true;
    this.calls++;
    this.running.take(asker);
    const fetched = await this.source.load(key, validator, now).catch((): Fetched<T> => ({ kind: 'failed' }));
    this.calls--;
    this.running.giveBack(asker);
    if (isProbe) this.probing = false;
    this.note(fetched, clock());
    this.onCall(this.source.name, fetched.kind);
    return fetched;
  }

  private note(fetched: Fetched<T>, now: number): void {
    const isDown = fetched.kind === 'failed' && fetched.hasAnswered !== true;
    this.breaker = isDown ? failedAt(this.breaker, now) : succeeded();
    if (fetched.kind === 'limited') this.blockedUntil = now + Math.min(WAIT_MAX_MS, fetched.waitMs);
  }
}

export interface ProviderState {
  /** By id, the least recently used one first. */
  readonly entries: readonly (readonly [string, CachedReading])[];
  readonly budgets: readonly (readonly [SourceName, BudgetState])[];
}

/** One per process, shared by all workers, so that many workers make one call. */
export interface ProviderClient {
  /** Feeds with at least one source. */
  readonly offered: readonly FeedName[];
  /** Returns at once with a usable cached value, else a promise of the fetch. Never rejects. */
  ask<F extends FeedName>(
    feed: F,
    key: string,
    asker: Asker,
  ): Reading<FeedValues[F]> | Promise<Reading<FeedValues[F]>>;
  size(): number;
  /** Fetches that have ended since the start. */
  changes(): number;
  /** What a restart keeps. */
  state(): ProviderState;
  restore(state: ProviderState): void;
}

interface ProviderClientOptions {
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
    load: (name, key, entry, asker) => fetchFirst(feeds[name], key, entry, asker),
    clock,
    patienceMs,
    entriesMax,
  });

  /**
   * Asks the sources in order until one answers. Only the first can report that nothing exists, or all of them together:
   * with `asksNextWhenMissing` each may know more, and one that did not answer may know it.
   */
  async function fetchFirst(
    feed: Feed<unknown>,
    key: string,
    entry: CachedReading | null,
    asker: Asker,
  ): Promise<CachedReading | Unavailable> {
    let waitMs = Number.POSITIVE_INFINITY;
    let denials = 0;
    for (const [index, source] of feed.sources.entries()) {
      const isHolder = entry?.source === source.name;
      // The source has announced that it has nothing newer yet.
      if (isHolder && clock() < entry.notBefore) continue;
      const guard = guarded.get(source.name)!;
      const validator = isHolder && isSameStep(entry.time, clock(), source.stepMs) ? entry.validator : null;
      const fetched = await guard.load(key, validator, clock, asker);
      const found = entryOf(fetched, feed, source.name, entry, clock());
      if (found !== null && found.value !== null) return found;
      if (found !== null) {
        denials++;
        if (denials === feed.sources.length || (index === 0 && !feed.asksNextWhenMissing)) return found;
      }
      if (fetched.kind === 'limited') waitMs = Math.min(waitMs, fetched.waitMs);
    }
    return Number.isFinite(waitMs)
      ? { kind: 'limited', retryAfter: Math.max(1, Math.ceil(waitMs / 1000)) }
      : DOWN;
  }

  return {
    offered: names.filter((name) => feeds[name].sources.length > 0),
    ask: (name, key, asker) => readings.ask(name, key, asker),
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

function isSameStep(time: number, now: number, stepMs: number | undefined): boolean {
  return stepMs === undefined || Math.floor(time / stepMs) === Math.floor(now / stepMs);
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
