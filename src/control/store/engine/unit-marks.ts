import type { Tx } from '../store.ts';
import type { WorkTopic } from './work-topics.ts';

/** What a unit of work did that listeners wait for. */
export interface Marks {
  /** The last change that it appended to the log; null when it appended none. */
  readonly seq: number | null;
  readonly work: ReadonlySet<WorkTopic>;
}

interface MutableMarks {
  seq: number | null;
  readonly work: Set<WorkTopic>;
}

export const NO_MARKS: Marks = { seq: null, work: new Set() };

/** Keyed by the handle of a unit. A unit that runs again has a new handle, so the marks of its first run do not count. */
const marks = new WeakMap<Tx, MutableMarks>();

function marksFor(tx: Tx): MutableMarks {
  const known = marks.get(tx);
  if (known !== undefined) return known;
  const fresh: MutableMarks = { seq: null, work: new Set() };
  marks.set(tx, fresh);
  return fresh;
}

/** Records that the unit appended changes up to `seq`. */
export function markChange(tx: Tx, seq: number): void {
  marksFor(tx).seq = seq;
}

/** Records that the unit left work of this kind. */
export function markWork(tx: Tx, topic: WorkTopic): void {
  marksFor(tx).work.add(topic);
}

export function marksOf(tx: Tx): Marks {
  return marks.get(tx) ?? NO_MARKS;
}

/** The marks of several units as one. */
export function joinMarks(all: readonly Marks[]): Marks {
  const seqs = all.flatMap(({ seq }) => (seq === null ? [] : [seq]));
  return {
    seq: seqs.length === 0 ? null : Math.max(...seqs),
    work: new Set(all.flatMap(({ work }) => [...work])),
  };
}
