import './quick-crypto.ts';
import type { Timers } from '../../src/base/lifecycle/timers.ts';
import { everyTurn } from './quick-turns.ts';

/** Simulated time: callbacks in order of their time, and of their making where that is equal. Between two of them all promises settle. */
export interface Scheduler {
  /** Milliseconds since the epoch: the true time, which no process knows. */
  readonly now: () => number;
  /** Calls `run` once, a millisecond later at the earliest, as real timers do. @returns cancels it */
  after(ms: number, run: () => void): () => void;
  /** Calls `run` now, behind everything else that is due now. */
  soon(run: () => void): void;
  /** True milliseconds since the beginning. */
  readonly elapsed: () => number;
  /** Runs what falls due until then. */
  advance(ms: number): Promise<void>;
  /** Callbacks that were run. */
  readonly events: number;
}

/** Timers of one process, as its machine counts them. None fires while it is paused or after it was killed. */
export interface ProcessTimers extends Timers {
  isDead(): boolean;
  /**
   * Runs what comes from outside: now, once the process goes on, or never.
   * @returns what `run` returns, or a promise of it
   */
  enter<T>(run: () => T): T | Promise<Awaited<T>>;
}

interface Entry {
  readonly at: number;
  readonly order: number;
  run: (() => void) | null;
}

export function createScheduler(start: number): Scheduler {
  let now = start;
  let order = 0;
  let events = 0;
  const heap: Entry[] = [];

  function schedule(at: number, run: () => void): Entry {
    const entry: Entry = { at, order: order++, run };
    push(heap, entry);
    return entry;
  }

  /** Takes the next callback that was not cancelled. */
  function nextUntil(until: number): Entry | null {
    for (let next = heap[0]; next !== undefined && next.at <= until; next = heap[0]) {
      pop(heap);
      if (next.run !== null) return next;
    }
    return null;
  }

  return {
    // Real timers know no fractions and no delay below one millisecond.
    after(ms, run) {
      const entry = schedule(now + Math.max(1, Math.ceil(ms)), run);
      return () => {
        entry.run = null;
      };
    },
    soon(run) {
      schedule(now, run);
    },
    now: () => now,
    elapsed: () => now - start,
    get events() {
      return events;
    },
    advance(ms) {
      const until = now + ms;
      return new Promise((resolve, reject) => {
        // What waits for no timer goes on to its end first, however many turns of the event loop it takes.
        everyTurn(() => {
          const entry = nextUntil(until);
          now = entry?.at ?? until;
          if (entry === null) {
            resolve();
            return false;
          }
          try {
            events++;
            entry.run?.();
            return true;
          } catch (error) {
            reject(error as Error);
            return false;
          }
        });
      });
    },
  };
}

const isBefore = (a: Entry, b: Entry): boolean => a.at < b.at || (a.at === b.at && a.order < b.order);

function push(heap: Entry[], entry: Entry): void {
  let at = heap.push(entry) - 1;
  while (at > 0) {
    const parent = (at - 1) >> 1;
    if (!isBefore(entry, heap[parent]!)) break;
    heap[at] = heap[parent]!;
    at = parent;
  }
  heap[at] = entry;
}

function pop(heap: Entry[]): void {
  const last = heap.pop()!;
  if (heap.length === 0) return;
  let at = 0;
  for (;;) {
    let child = 2 * at + 1;
    if (child >= heap.length) break;
    if (child + 1 < heap.length && isBefore(heap[child + 1]!, heap[child]!)) child++;
    if (!isBefore(heap[child]!, last)) break;
    heap[at] = heap[child]!;
    at = child;
  }
  heap[at] = last;
}
