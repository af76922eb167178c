import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Timers } from '../../../../src/base/lifecycle/timers.ts';

interface Pending {
  readonly at: number;
  readonly run: () => void;
}

export interface ManualTimers extends Timers {
  /** Milliseconds that were advanced so far. */
  readonly now: number;
  /** Delays that wait at present, milliseconds from now, ascending. */
  pending(): readonly number[];
  /** Moves time on and runs what falls due, in order; lets promises settle after each. */
  advance(ms: number): Promise<void>;
}

/** Turns of the event loop in which promise chains of any usual length settle. */
const TURNS = 3;

/** Timers that fire only when a test moves the time. */
export function createManualTimers(): ManualTimers {
  let now = 0;
  const waiting = new Set<Pending>();

  function nextDue(until: number): Pending | null {
    let first: Pending | null = null;
    for (const timer of waiting)
      if (timer.at <= until && (first === null || timer.at < first.at)) first = timer;
    return first;
  }

  async function settle(): Promise<void> {
    for (let turn = 0; turn < TURNS; turn++) await nextTurn();
  }

  return {
    get now() {
      return now;
    },
    after(ms, run) {
      const timer: Pending = { at: now + ms, run };
      waiting.add(timer);
      return () => {
        waiting.delete(timer);
      };
    },
    elapsed: () => now,
    pending: () => [...waiting].map(({ at }) => at - now).toSorted((a, b) => a - b),
    async advance(ms) {
      const until = now + ms;
      await settle();
      for (let timer = nextDue(until); timer !== null; timer = nextDue(until)) {
        waiting.delete(timer);
        now = timer.at;
        timer.run();
        await settle();
      }
      now = until;
      await settle();
    },
  };
}
