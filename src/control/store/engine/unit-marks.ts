import type { Tx } from '../store.ts';
import type { WorkTopic } from './work-topics.ts';

/** What a unit of work did that others wait for. */
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

/** By the handle of a unit: a unit that is run again has a new one, so nothing of its first run stays. */
const marks = new WeakMap<Tx, MutableMarks>();

function marksFor(tx: Tx): MutableMarks {
  const known = marks.get(tx);
  if (known !== undefined) return known;
  const fresh: MutableMarks = { seq: null, work: new Set() };
  marks.set(tx, fresh);
  return fresh;
}

/** The unit appended changes, `seq` being the last. */
export function markChange(tx: Tx, seq: number): void {
  marksFor(tx).seq = seq;
}

/** The unit left work of this kind. */
export function markWork(tx: Tx, topic: WorkTopic): void {
  marksFor(tx).work.add(topic);
}

export function marksOf(tx: Tx): Marks {
  return marks.get(tx) ?? NO_MARKS;
}

/** What several units did, in the order of their commits. */
export function joinMarks(all: readonly Marks[]): Marks {
  const seqs = all.flatMap(({ seq }) => (seq === null ? [] : [seq]));
  return {
    seq: seqs.length === 0 ? null : Math.max(...seqs),
    work: new Set(all.flatMap(({ work }) => [...work])),
  };
}
