import type { Clock } from '../../base/clock.ts';

/** When a view got its newest changes. */
export interface AppliedTimes {
  /** The view has every change up to `seq` now. */
  note(seq: number): void;
  /** Milliseconds since the epoch; null: not yet, or too long ago. */
  at(seq: number): number | null;
}

/** Batches of changes whose time is kept: on a node with constant writes, those of a minute or more. */
const KEPT = 1024;

/** @param start the last change that the view has already */
export function createAppliedTimes(clock: Clock, start: number, kept = KEPT): AppliedTimes {
  /** The first is the last change whose time is not known. Ascending. */
  let known = [{ seq: start, at: 0 }];
  return {
    note(seq) {
      const last = known.at(-1)!;
      // A view of another database begins with a smaller number.
      if (seq < last.seq) known = [{ seq: 0, at: 0 }];
      if (seq === known.at(-1)!.seq) return;
      known.push({ seq, at: clock() });
      if (known.length > kept + 1) known.shift();
    },
    at(seq) {
      if (seq <= known[0]!.seq) return null;
      return known.find((batch) => batch.seq >= seq)?.at ?? null;
    },
  };
}
