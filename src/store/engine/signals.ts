import type { Change } from '../../protocol/change.ts';
import { type Tx, WORK_TOPICS, type WorkTopic } from '../store.ts';

/** What a unit of work did that listeners wait for. */
export interface Marks {
  /** The last change that it appended to the log; null when it appended none. */
  readonly seq: number | null;
  /** The epoch of the log with that change; null when it appended none. */
  readonly epoch: string | null;
  /** All changes that it appended, as the log gives them; null when the log must be read. */
  readonly changes: readonly Change[] | null;
  /** It erased payloads of the log. */
  readonly isErasure: boolean;
  readonly work: ReadonlySet<WorkTopic>;
}

interface MutableMarks {
  seq: number | null;
  epoch: string | null;
  changes: readonly Change[] | null;
  isErasure: boolean;
  readonly work: Set<WorkTopic>;
}

const NO_CHANGES: readonly Change[] = [];

export const NO_MARKS: Marks = {
  seq: null,
  epoch: null,
  changes: NO_CHANGES,
  isErasure: false,
  work: new Set(),
};

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
export function markChange(
  tx: Tx,
  { seq, epoch }: { readonly seq: number; readonly epoch: string },
  changes: readonly Change[] | null,
): void {
  const all = marksFor(tx);
  all.seq = seq;
  all.epoch = epoch;
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
    epoch: all.find(({ epoch }) => epoch !== null)?.epoch ?? null,
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

/**
 * Calls listeners after committed units that appended changes or left work. An error of a listener is ignored: the commit is done,
 * and a wake-up is only a hint.
 */
export class StoreSignals {
  readonly #changed = new Set<(seq: number) => void>();
  readonly #work = new Map<WorkTopic, Set<() => void>>();
  readonly #committed = new Set<() => void>();
  readonly #watch: () => () => void;
  #unwatch: (() => void) | null = null;
  #lastSeq: number | null = null;

  /** @param watch starts to watch other processes' commits; called while there are listeners; returns how to stop */
  constructor(watch: () => () => void) {
    this.#watch = watch;
  }

  onChange(listener: (seq: number) => void): () => void {
    // A new closure: the same function added twice is two listeners.
    return this.#add(this.#changed, (seq: number) => listener(seq));
  }

  onWork(topic: WorkTopic, listener: () => void): () => void {
    const listeners = this.#work.get(topic) ?? new Set();
    this.#work.set(topic, listeners);
    return this.#add(listeners, () => listener());
  }

  onCommit(listener: () => void): () => void {
    return this.#add(this.#committed, () => listener());
  }

  /** Whether somebody listens to changes. */
  get isHeard(): boolean {
    return this.#changed.size > 0;
  }

  /** The `seq` of the last call of `tell` with one; null before. */
  get lastSeq(): number | null {
    return this.#lastSeq;
  }

  tell({ seq, work }: Marks): void {
    this.#lastSeq = seq ?? this.#lastSeq;
    if (seq !== null) for (const listener of this.#changed) quietly(() => listener(seq));
    for (const topic of work) {
      for (const listener of this.#work.get(topic) ?? []) quietly(listener);
    }
    for (const listener of this.#committed) quietly(listener);
  }

  /** Tells of everything when a reader found a head of the log of which no notice came. */
  found(head: number): void {
    if (this.#lastSeq === null) this.#lastSeq = head;
    else if (head > this.#lastSeq) this.tell({ ...NO_MARKS, seq: head, work: new Set(WORK_TOPICS) });
  }

  /** Stops watching other processes. */
  stop(): void {
    this.#unwatch?.();
    this.#unwatch = null;
  }

  #add<T>(listeners: Set<T>, entry: T): () => void {
    listeners.add(entry);
    this.#unwatch ??= this.#watch();
    return () => {
      listeners.delete(entry);
      const left = [this.#changed, this.#committed, ...this.#work.values()].reduce(
        (sum, { size }) => sum + size,
        0,
      );
      if (left === 0) this.stop();
    };
  }
}

function quietly(call: () => void): void {
  try {
    call();
  } catch {
    // An error of a listener must not look like a failed commit.
  }
}
