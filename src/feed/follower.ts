import type { Change } from '../core/change.ts';
import type { Clock } from '../core/clock.ts';
import type { Backoff } from '../lifecycle/backoff.ts';
import { loop } from '../lifecycle/loop.ts';
import { createWaker } from '../lifecycle/waker.ts';
import type { ChangeSource, LogBounds, Snapshot } from './change-source.ts';
import {
  createFailureReports,
  type FeedFault,
  faultOf,
  LogGapError,
  OtherStoreError,
} from './feed-faults.ts';
import { createFeedHealth } from './feed-health.ts';
import type { ViewRebuild, ViewWriter } from './view-writer.ts';

/** `rebuilding`: another view is being built, the present one serves meanwhile. `failing`: the last attempt failed, another will follow. */
export type FollowerState = 'rebuilding' | 'following' | 'failing';

export interface FollowerOptions {
  readonly source: ChangeSource;
  /** Written by the follower alone. Not closed by it. */
  readonly view: ViewWriter;
  readonly clock: Clock;
  /** Builds the view anew when the source is another database than the one that it was built from; else that is a fault. */
  readonly acceptNewStore?: boolean;
  /** After a commit, with its changes: none when it ended a rebuild without any. Must not throw. */
  readonly onApplied?: (changes: readonly Change[], cursor: number) => void;
  /** @param seq of the last change in the view, 0 for none */
  readonly onState?: (state: FollowerState, seq: number) => void;
  /** A failed attempt: the first, each with another cause, and then after 1, 2, 4 ... minutes. */
  readonly onFailing?: (fault: FeedFault, seconds: number, error: unknown) => void;
  /** The longest that a lost wake-up goes unnoticed. */
  readonly pollMs?: number;
  /** Changes of one transaction of the view. */
  readonly batch?: number;
  /** Ends the follower, as `stop` does. */
  readonly signal?: AbortSignal;
}

export interface Follower {
  /** Resolves once the view is up to date for the first time; rejects when the follower is stopped before, or the source is another database. */
  readonly ready: Promise<void>;
  /** Resolves when the first attempt is over, however it ended. */
  readonly attempted: Promise<void>;
  /** Changes not yet in the view, as far as known, and the age of the oldest; see `FeedHealth`. */
  lag(): { readonly seq: number; readonly seconds: number };
  /** False until a view is there for the first time. */
  hasView(): boolean;
  isStale(): boolean;
  /** When the view was last known to be up to date, milliseconds since the epoch; null: not since the start. */
  currentAt(): number | null;
  state(): FollowerState;
  /** Resolves when nothing writes to the view any more. */
  stop(): Promise<void>;
}

/** A write is visible within two seconds after the source has come back, even when no wake-up tells of it. */
const BACKOFF: Backoff = { firstMs: 100, capMs: 1_000 };
/** However many wake-ups there are, the bounds of the log and the files of the view are looked at so often. */
const CHECK_MS = 1_000;

/**
 * Keeps a view at the head of a source: resumes from the view's cursor and applies what follows. It builds another view beside
 * the serving one when the cursor is lost, older than the log, or newer than it (a source restored from a backup), when changes
 * are missing, or when the files of the view are gone. It retries with exponential backoff, without a limit.
 */
export function startFollower(options: FollowerOptions): Follower {
  const { source, view, clock, onApplied, onState, onFailing, pollMs = 250, batch = 1000 } = options;
  const ending = new AbortController();
  const { signal } = ending;
  const waker = createWaker(signal);
  const ready = Promise.withResolvers<void>();
  ready.promise.catch(() => {});
  const attempted = Promise.withResolvers<void>();
  const health = createFeedHealth(clock, () => source.heardAt());
  const reports = createFailureReports(clock);
  let cursor = view.cursor();
  let head = cursor ?? 0;
  let state: FollowerState = cursor === null ? 'rebuilding' : 'following';
  let accepts = options.acceptNewStore ?? false;
  /** What is being called: an error is its fault. */
  let at: 'source' | 'view' = 'source';
  let checkedAt = Number.NEGATIVE_INFINITY;
  let hasHeard = false;

  const enter = (next: FollowerState): void => {
    if (next === state) return;
    state = next;
    onState?.(next, cursor ?? 0);
  };

  /** Those that follow `from`, without what came before. @throws LogGapError when one is missing */
  function following(from: number, found: readonly Change[]): readonly Change[] {
    const changes = found.filter((change) => change.seq > from);
    changes.forEach((change, i) => {
      if (change.seq !== from + 1 + i) throw new LogGapError();
    });
    head = Math.max(head, from + changes.length);
    if (changes[0] !== undefined) health.heardOf(changes[0].at);
    return changes;
  }

  async function write(changes: readonly Change[], next: number, how: () => Promise<void>): Promise<void> {
    at = 'view';
    await how();
    at = 'source';
    cursor = next;
    onApplied?.(changes, next);
  }

  async function fill(rebuild: ViewRebuild, { pages, seq, epoch }: Snapshot): Promise<void> {
    for await (const page of pages) {
      if (signal.aborted) return;
      at = 'view';
      await rebuild.load(page);
      at = 'source';
    }
    const changes = following(seq, await source.since(seq, batch));
    const next = seq + changes.length;
    await write(changes, next, () => rebuild.finish(changes, next, epoch));
  }

  /** @param epoch of the log that was compared with the view: a snapshot of another one is not taken */
  async function buildView(epoch: string): Promise<void> {
    enter('rebuilding');
    const snapshot = await source.openSnapshot();
    if (snapshot.epoch !== epoch) throw new LogGapError();
    head = Math.max(head, snapshot.seq);
    at = 'view';
    const rebuild = await view.rebuild();
    at = 'source';
    try {
      await fill(rebuild, snapshot);
    } finally {
      await rebuild.discard();
    }
  }

  /** Applies until the log gives no more. */
  async function follow(): Promise<void> {
    while (cursor !== null && !signal.aborted) {
      const from: number = cursor;
      const changes = following(from, await source.since(from, batch));
      const next = from + changes.length;
      if (changes.length > 0) await write(changes, next, () => view.apply(changes, next));
      if (changes.length < batch) return;
    }
  }

  async function readBounds(): Promise<LogBounds> {
    const bounds = await source.bounds();
    head = bounds.head;
    checkedAt = clock();
    return bounds;
  }

  /** Compares view and log, and builds the view anew where it cannot go on from its cursor. */
  async function check(): Promise<void> {
    const bounds = await readBounds();
    // A commit that failed may still have been made.
    cursor = view.cursor();
    const isOther = cursor !== null && view.epoch() !== bounds.epoch;
    if (isOther && !accepts) throw new OtherStoreError();
    if (isOther || cursor === null || cursor < bounds.oldest - 1 || cursor > head || view.isLost()) {
      await buildView(bounds.epoch);
    } else if (cursor < head) health.heardOf(clock());
  }

  async function pass(): Promise<number> {
    const began = clock();
    at = 'source';
    // A wake-up trusts the cursor, which saves a statement.
    const isWakeUp = hasHeard && state === 'following' && began - checkedAt < CHECK_MS;
    hasHeard = false;
    if (!isWakeUp) await check();
    try {
      await follow();
    } catch (error) {
      if (!(error instanceof LogGapError)) throw error;
      await buildView((await readBounds()).epoch);
      await follow();
    }
    if (signal.aborted) return 0;
    health.passed(began);
    reports.recovered();
    accepts = false;
    if (waker.woken()) health.heardOf(clock());
    enter('following');
    ready.resolve();
    attempted.resolve();
    return pollMs;
  }

  function failed(error: unknown): void {
    const fault = faultOf(error, at);
    health.failed();
    checkedAt = Number.NEGATIVE_INFINITY;
    enter('failing');
    if (reports.isDue(fault)) onFailing?.(fault, health.lagSeconds(), error);
    if (fault === 'other_store') ready.reject(error);
    attempted.resolve();
  }

  const unlisten = source.onChange(() => {
    health.heardOf(clock());
    hasHeard = true;
    waker.wake();
  });
  const halt = (): void => ending.abort();
  if (options.signal?.aborted) halt();
  options.signal?.addEventListener('abort', halt, { once: true });
  const ended = loop({ signal, waker, pass, backoff: BACKOFF, onError: failed }).then(() => {
    unlisten();
    options.signal?.removeEventListener('abort', halt);
    ready.reject(new Error('the follower was stopped before the view was up to date'));
    attempted.resolve();
  });

  return {
    ready: ready.promise,
    attempted: attempted.promise,
    lag: () => ({ seq: Math.max(0, head - (cursor ?? 0)), seconds: health.lagSeconds() }),
    hasView: () => cursor !== null,
    isStale: () => health.isStale(),
    currentAt: () => health.currentAt(),
    state: () => state,
    async stop() {
      halt();
      await ended;
    },
  };
}
