import type { Timers } from '../../src/base/lifecycle/timers.ts';

/** Simulated time: callbacks in order of their time, and of their making where that is equal. Between two of them all promises settle. */
export interface Scheduler extends Timers {
  /** Milliseconds since the epoch. */
  now(): number;
  /** Runs what falls due until then. */
  advance(ms: number): Promise<void>;
  /** Timers of one process: after `kill` none of them fires. */
  process(): ProcessTimers;
  /** Callbacks that were run. */
  readonly events: number;
}

export interface ProcessTimers extends Timers {
  isDead(): boolean;
  kill(): void;
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

  function after(ms: number, run: () => void): () => void {
    // Real timers know no fractions and no delay below one millisecond.
    const entry: Entry = { at: now + Math.max(1, Math.ceil(ms)), order: order++, run };
    push(heap, entry);
    return () => {
      entry.run = null;
    };
  }

  /** Takes the next callback that was not cancelled. */
  function nextUntil(until: number): Entry | null {
    for (let next = heap[0]; next !== undefined && next.at <= until; next = heap[0]) {
      pop(heap);
      if (next.run !== null) return next;
    }
    return null;
  }

  const elapsed = (): number => now - start;

  return {
    after,
    elapsed,
    now: () => now,
    get events() {
      return events;
    },
    // One turn of the event loop follows each callback: what waits for no timer goes on to its end.
    advance(ms) {
      const until = now + ms;
      return new Promise((resolve, reject) => {
        function step(): void {
          const entry = nextUntil(until);
          now = entry?.at ?? until;
          if (entry === null) resolve();
          else
            try {
              events++;
              entry.run?.();
              setImmediate(step);
            } catch (error) {
              reject(error as Error);
            }
        }
        setImmediate(step);
      });
    },
    process() {
      let isDead = false;
      return {
        isDead: () => isDead,
        kill() {
          isDead = true;
        },
        elapsed,
        after: (ms, run) =>
          isDead
            ? () => {}
            : after(ms, () => {
                if (!isDead) run();
              }),
      };
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
