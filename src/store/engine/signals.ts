import { type Marks, NO_MARKS } from './unit-marks.ts';
import { WORK_TOPICS, type WorkTopic } from './work-topics.ts';

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
