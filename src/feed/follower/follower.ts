import { isSuccessor } from '../../base/ids.ts';
import { type Backoff, createWaker, loop } from '../../base/lifecycle/loop.ts';
import { loopTimers, nextTurn, type Timers } from '../../base/lifecycle/timers.ts';
import type { Clock } from '../../base/time.ts';
import type { Change } from '../../protocol/change.ts';
import type { LogBounds, ViewSource } from '../ports/change-source.ts';
import type { ViewWriter } from '../ports/view-writer.ts';
import { changeParts, fillFromFile, fillFromPages, type ViewFilling } from './fill.ts';
import {
  createFailureReports,
  createFeedHealth,
  type FeedFault,
  faultOf,
  LogGapError,
  OtherStoreError,
} from './health.ts';

/** `rebuilding`: the present view serves while another is built. `failing`: the last attempt failed and is retried. */
export type FollowerState = 'rebuilding' | 'following' | 'failing';

export interface FollowerOptions {
  readonly source: ViewSource;
  /** Written only by the follower, which does not close it. */
  readonly view: ViewWriter;
  readonly clock: Clock;
  /** Rebuilds the view when the source is another database than the view's; otherwise that is a fault. */
  readonly acceptNewStore?: boolean;
  /** Called after a commit, with its changes; a rebuild may end without any. Must not throw. */
  readonly onApplied?: (changes: readonly Change[], cursor: number) => void;
  /** @param seq of the last change in the view, 0 for none */
  readonly onState?: (state: FollowerState, seq: number) => void;
  /** Called at the first failed attempt, at each new cause, and then after 1, 2, 4 ... minutes. */
  readonly onFailing?: (fault: FeedFault, seconds: number, error: unknown) => void;
  /** Milliseconds until a lost wake-up is noticed, at most. */
  readonly pollMs?: number;
  /** Changes of one transaction of the view. */
  readonly batch?: number;
  /** Stops the follower. */
  readonly signal?: AbortSignal;
  readonly timers?: Timers | undefined;
}

export interface Follower {
  /**
   * Resolves once the view is up to date for the first time. Rejects when the follower stops before, or the source is another database.
   */
  readonly ready: Promise<void>;
  /** Resolves when the first attempt has ended, successful or not. */
  readonly attempted: Promise<void>;
  /** Changes missing from the view, as far as known, and the age of the oldest; see `FeedHealth`. */
  lag(): { readonly seq: number; readonly seconds: number };
  /** False until the first view is built. */
  hasView(): boolean;
  isStale(): boolean;
  /** When the view was last known to be up to date, milliseconds since the epoch; null: not since the start. */
  currentAt(): number | null;
  state(): FollowerState;
  /** Resolves when nothing writes to the view any more. */
  stop(): Promise<void>;
}

/** The cap bounds the delay after an outage: a write is visible within two seconds, also without a wake-up. */
const BACKOFF: Backoff = { firstMs: 100, capMs: 1_000 };
/** The log is in a database, which tells of most commits: this one statement finds those of which no notice came. */
const POLL_MS = 1_000;
/** Milliseconds between two checks of the log's bounds and the view's files, however many wake-ups there are. */
const CHECK_MS = 1_000;

/**
 * Keeps a view at the head of a source, from the view's cursor on. It rebuilds when the cursor is missing, older than
 * the log, or newer than it (a restored backup), when the database has a later epoch, when changes are missing, or when files of the view are gone. It
 * retries with exponential backoff, without a limit.
 */
export function startFollower(options: FollowerOptions): Follower {
  const { source, view, clock, onApplied, onState, onFailing, pollMs = POLL_MS, batch = 1000 } = options;
  const { timers = loopTimers } = options;
  const ending = new AbortController();
  const { signal } = ending;
  const waker = createWaker(signal, timers);
  const ready = Promise.withResolvers<void>();
  ready.promise.catch(() => {});
  const attempted = Promise.withResolvers<void>();
  const health = createFeedHealth(clock, () => source.heardAt());
  const reports = createFailureReports(clock);
  let cursor = view.cursor();
  let head = cursor ?? 0;
  let state: FollowerState = cursor === null ? 'rebuilding' : 'following';
  let accepts = options.acceptNewStore ?? false;
  /** Which call an error comes from. */
  let at: 'source' | 'view' = 'source';
  let checkedAt = Number.NEGATIVE_INFINITY;
  let hasHeard = false;
  /** Whether `head` is the end of a copy of the log. */
  let isCopy = false;

  const enter = (next: FollowerState): void => {
    if (next === state) return;
    state = next;
    onState?.(next, cursor ?? 0);
  };

  /** The changes that follow `from`, in order. @throws LogGapError when one is missing */
  function following(from: number, found: readonly Change[]): readonly Change[] {
    const changes = found.filter((change) => change.seq > from);
    changes.forEach((change, i) => {
      if (change.seq !== from + 1 + i) throw new LogGapError();
    });
    head = Math.max(head, from + changes.length);
    if (changes[0] !== undefined) health.heardOf(changes[0].at);
    return changes;
  }

  async function inView<T>(work: () => Promise<T>): Promise<T> {
    at = 'view';
    const result = await work();
    at = 'source';
    return result;
  }

  async function write(changes: readonly Change[], next: number, how: () => Promise<void>): Promise<void> {
    await inView(how);
    cursor = next;
    onApplied?.(changes, next);
  }

  /** A source gives fewer changes at once where they hold many items. */
  function isLast(changes: readonly Change[]): boolean {
    return changes.length < batch && changes.at(-1)?.type !== 'dataset.items';
  }

  /** @param epoch of the log that was compared with the view: a snapshot of another one is rejected */
  async function buildView(epoch: string): Promise<void> {
    enter('rebuilding');
    const snapshot = await source.openSnapshot(signal);
    if (snapshot.epoch !== epoch) throw new LogGapError();
    head = Math.max(head, snapshot.seq);
    const rebuild = await inView(() => view.rebuild());
    const filling: ViewFilling = {
      rebuild,
      signal,
      after: async (seq) => following(seq, await source.since(epoch, seq, batch)),
      isLast,
      head: () => head,
      servingCursor: (of) => (view.epoch() === of ? (view.cursor() ?? 0) : 0),
      inView,
      finish: (changes, next, of) => write(changes, next, () => rebuild.finish(changes, next, of)),
    };
    try {
      if ('file' in snapshot) await fillFromFile(filling, snapshot);
      else await fillFromPages(filling, snapshot);
    } finally {
      await rebuild.discard();
    }
  }

  /** Applies until the log gives no more. A copy may end before the log does: then the next part comes from its origin. */
  async function follow(): Promise<void> {
    const epoch = view.epoch();
    while (cursor !== null && epoch !== null && !signal.aborted) {
      const from: number = cursor;
      const changes = following(from, await source.since(epoch, from, batch));
      let next = from;
      for (const part of changeParts(changes)) {
        // The event loop turns between two transactions, so that other work of the thread goes on.
        if (next > from) await nextTurn();
        if (signal.aborted) return;
        next += part.length;
        const seq = next;
        await write(part, seq, () => view.apply(part, seq));
      }
      if (changes.length === 0 || (isLast(changes) && next >= head)) return;
    }
  }

  async function readBounds(): Promise<LogBounds> {
    const bounds = await source.bounds();
    head = bounds.head;
    isCopy = bounds.isCopy === true;
    checkedAt = clock();
    return bounds;
  }

  /**
   * Compares view and log, and rebuilds the view where its cursor is unusable.
   * @returns whether the view had everything. A copy of the log does not know: its origin is asked, so that its absence is told
   */
  async function check(): Promise<boolean> {
    const bounds = await readBounds();
    // A commit that failed may still have been made.
    cursor = view.cursor();
    const epoch = view.epoch();
    const isOther = cursor !== null && epoch !== bounds.epoch;
    // After a restored backup the operator gives the database another epoch, so that every view is built again.
    const isRestored = epoch !== null && isSuccessor(bounds.epoch, epoch);
    // After a restored backup a copy of the log may still be the one of before. Only its origin knows.
    if (isOther && !isRestored && isCopy) throw new Error('the log is a copy of another one');
    if (isOther && !isRestored && !accepts) throw new OtherStoreError();
    if (isOther || cursor === null || cursor < bounds.oldest - 1 || cursor > head || view.isLost()) {
      await buildView(bounds.epoch);
      return false;
    }
    if (cursor < head) health.heardOf(clock());
    return cursor === head && !isCopy;
  }

  async function pass(): Promise<number> {
    const began = clock();
    at = 'source';
    // A wake-up trusts the cursor, which saves a statement.
    const isWakeUp = hasHeard && state === 'following' && Math.abs(began - checkedAt) < CHECK_MS;
    hasHeard = false;
    const isCurrent = !isWakeUp && (await check());
    try {
      if (!isCurrent) await follow();
    } catch (error) {
      if (!(error instanceof LogGapError)) throw error;
      await buildView((await readBounds()).epoch);
      await follow();
    }
    if (signal.aborted) return 0;
    // Else the view lacks something, or may lack what the copy does not have: it is as current as it was before.
    if (!isCopy && cursor !== null && cursor >= head) health.passed(began);
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
