import type { Change } from '../../protocol/change.ts';
import type { Tx } from '../store.ts';
import type { WorkTopic } from './work-topics.ts';

/** What a unit of work did that listeners wait for. */
export interface Marks {
  /** The last change that it appended to the log; null when it appended none. */
  readonly seq: number | null;
  /** All changes that it appended, as the log gives them; null when the log must be read. */
  readonly changes: readonly Change[] | null;
  /** It erased payloads of the log. */
  readonly isErasure: boolean;
  readonly work: ReadonlySet<WorkTopic>;
}

interface MutableMarks {
  seq: number | null;
  changes: readonly Change[] | null;
  isErasure: boolean;
  readonly work: Set<WorkTopic>;
}

const NO_CHANGES: readonly Change[] = [];

export const NO_MARKS: Marks = { seq: null, changes: NO_CHANGES, isErasure: false, work: new Set() };

/** Keyed by the handle of a unit. A unit that runs again has a new handle, so the marks of its first run do not count. */
const marks = new WeakMap<Tx, MutableMarks>();

function marksFor(tx: Tx): MutableMarks {
  const known = marks.get(tx);
  if (known !== undefined) return known;
  const fresh: MutableMarks = { ...NO_MARKS, work: new Set() };
  marks.set(tx, fresh);
  return fresh;
}

/**
 * Records that the unit appended changes up to `seq`.
 * @param changes as the log gives them; null when only the database has them
 */
export function markChange(tx: Tx, seq: number, changes: readonly Change[] | null): void {
  const all = marksFor(tx);
  all.seq = seq;
  all.changes = joinChanges([all.changes, changes]);
}

/** Records that the unit erased payloads of the log. */
export function markErasure(tx: Tx): void {
  marksFor(tx).isErasure = true;
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
    changes: joinChanges(all.map(({ changes }) => changes)),
    isErasure: all.some(({ isErasure }) => isErasure),
    work: new Set(all.flatMap(({ work }) => [...work])),
  };
}

function joinChanges(all: readonly (readonly Change[] | null)[]): readonly Change[] | null {
  const some = all.filter((changes) => changes === null || changes.length > 0);
  if (some.length < 2) return some.length === 0 ? NO_CHANGES : some[0]!;
  return some.includes(null) ? null : some.flatMap((changes) => changes!);
}
