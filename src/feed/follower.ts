import type { Change } from '../core/change.ts';
import type { Clock } from '../core/clock.ts';
import type { ViewWriter } from '../edge/hosted/view.ts';
import type { ChangeSource } from './change-source.ts';
import { backoffMs, createWaker } from './pace.ts';

/** `rebuilding`: the view is being made anew. `failing`: the last attempt failed, another will follow. */
export type FollowerState = 'rebuilding' | 'following' | 'failing';

export interface FollowerOptions {
  readonly source: ChangeSource;
  /** Written by the follower alone. Not closed by it. */
  readonly view: ViewWriter;
  readonly clock: Clock;
  /** After a commit, with its changes: none when it ended a rebuild without any. Must not throw. */
  readonly onApplied?: (changes: readonly Change[], cursor: number) => void;
  /** @param seq of the last change in the view, 0 for none */
  readonly onState?: (state: FollowerState, seq: number) => void;
  readonly onError?: (error: unknown) => void;
  /** The longest that a lost wake-up goes unnoticed. */
  readonly pollMs?: number;
  /** Changes of one transaction of the view. */
  readonly batch?: number;
  /** Ends the follower, as `stop` does. */
  readonly signal?: AbortSignal;
}

export interface Follower {
  /** Resolves once the view is up to date for the first time; rejects when the follower is stopped before. */
  readonly ready: Promise<void>;
  /** Changes not yet in the view, and the age of the oldest of them, as far as known. */
  lag(): { readonly seq: number; readonly seconds: number };
  state(): FollowerState;
  /** Resolves when nothing writes to the view any more. */
  stop(): Promise<void>;
}

/** The log does not continue where the view ends: changes are missing. */
class LogGapError extends Error {
  constructor() {
    super('the change log has a gap');
    this.name = 'LogGapError';
  }
}

/**
 * Keeps a view at the head of a source: resumes from the view's cursor, applies what follows, and makes the view anew when
 * its cursor is lost, older than the log, or newer than it (a source restored from a backup). Whatever fails is tried
 * again, later and later, for ever.
 */
export function startFollower(options: FollowerOptions): Follower {
  const { source, view, clock, onApplied, onState, onError, pollMs = 250, batch = 1000, signal } = options;
  const waker = createWaker();
  const ready = Promise.withResolvers<void>();
  ready.promise.catch(() => {});
  let cursor = view.cursor();
  let head = cursor ?? 0;
  let state: FollowerState = cursor === null ? 'rebuilding' : 'following';
  let stopped = false;
  /** When the oldest change that the view lacks was made, or was first heard of; null when it lacks none. */
  let behindSince: number | null = clock();

  const enter = (next: FollowerState): void => {
    if (next === state) return;
    state = next;
    onState?.(next, cursor ?? 0);
  };
  const heardOf = (at: number): void => {
    if (behindSince === null || at < behindSince) behindSince = at;
  };

  /** Applies changes that follow `from` in a gapless row; such as came before are left out. */
  async function apply(from: number, found: readonly Change[]): Promise<void> {
    const changes = found.filter((change) => change.seq > from);
    changes.forEach((change, i) => {
      if (change.seq !== from + 1 + i) throw new LogGapError();
    });
    const next = from + changes.length;
    head = Math.max(head, next);
    if (changes[0] !== undefined) heardOf(changes[0].at);
    await view.apply(changes, next);
    cursor = next;
    onApplied?.(changes, next);
  }

  /** Takes the head first: whatever changes while the pages are read comes after it in the log. */
  async function rebuild(): Promise<void> {
    enter('rebuilding');
    const bounds = await source.bounds();
    head = bounds.head;
    cursor = null;
    await view.clear();
    for await (const page of source.snapshot()) {
      if (stopped) return;
      await view.load(page);
    }
    await apply(bounds.head, await source.since(bounds.head, batch));
  }

  /** Applies until the log gives no more. */
  async function follow(): Promise<void> {
    while (cursor !== null && !stopped) {
      const from: number = cursor;
      const changes = await source.since(from, batch);
      if (changes.length > 0) await apply(from, changes);
      if (changes.length < batch || cursor === from) return;
    }
  }

  async function catchUp(woken: boolean): Promise<void> {
    if (!woken) {
      const bounds = await source.bounds();
      head = bounds.head;
      // A commit that failed may still have been made.
      cursor = view.cursor();
      if (cursor === null || cursor < bounds.oldest - 1 || cursor > head) await rebuild();
      else if (cursor < head) heardOf(clock());
    }
    try {
      await follow();
    } catch (error) {
      if (!(error instanceof LogGapError)) throw error;
      await rebuild();
      await follow();
    }
  }

  async function run(): Promise<void> {
    // The first pass looks at the bounds; a wake-up trusts the cursor, which saves it a statement.
    let woken = false;
    for (let failures = 0; !stopped; ) {
      waker.reset();
      const started = clock();
      try {
        await catchUp(woken);
        if (stopped) break;
        failures = 0;
        // What was heard of before this pass began is in the view now.
        if (behindSince !== null && behindSince <= started) behindSince = null;
        if (waker.woken()) heardOf(clock());
        enter('following');
        ready.resolve();
        woken = await waker.wait(pollMs);
      } catch (error) {
        failures++;
        enter('failing');
        onError?.(error);
        await waker.sleep(backoffMs(failures));
        woken = false;
      }
    }
  }

  const unlisten = source.onChange(() => {
    heardOf(clock());
    waker.wake();
  });
  const halt = (): void => {
    stopped = true;
    waker.stop();
  };
  if (signal?.aborted) halt();
  signal?.addEventListener('abort', halt, { once: true });
  const ended = run().finally(() => {
    unlisten();
    signal?.removeEventListener('abort', halt);
    ready.reject(new Error('the follower was stopped before the view was up to date'));
  });

  return {
    ready: ready.promise,
    lag: () => {
      const missing = Math.max(0, head - (cursor ?? 0));
      return { seq: missing, seconds: behindSince === null ? 0 : Math.max(0, clock() - behindSince) / 1000 };
    },
    state: () => state,
    async stop() {
      halt();
      await ended;
    },
  };
}
