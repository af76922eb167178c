/**
 * One thing that writes change, where nobody knows the instant of a write: only that it lies between the request and its answer. Instants
 * are numbers of events: the model counts what it is told, so no two are equal.
 */
export interface Write<V> {
  /** What was asked for; once it is answered, what was written. */
  value: V;
  /** Whose request it is. */
  by: string;
  /** The request was sent. */
  readonly from: number;
  /** It was answered, or seen; until then it may still happen. */
  to: number;
  /** Answered as done, or seen by somebody. Another one may have happened, or not. */
  isCertain: boolean;
  /** It was refused. */
  isVoid: boolean;
  /** What it belongs to, and `ends`, which does not exist after it: every write that belongs to it came before. */
  owners: readonly string[];
  readonly ends: string | null;
}

/** One write of a request, and what its answer tells of it. */
export interface Effect {
  readonly write: Write<unknown>;
  /** Of the record that is written by itself. */
  readonly key?: string;
  /** With the body of the answer: the value as it is now known. */
  readonly told?: (body: never, at: number) => void;
  isTold?: boolean;
}

export interface WriteOptions {
  readonly owners?: readonly string[];
  readonly ends?: string | null;
}

/** Writes that somebody has for certain. */
export type Applied = Pick<ReadonlySet<Write<unknown>>, 'has'>;

export interface Register<V> {
  readonly writes: readonly Write<V>[];
  begin(value: V, from: number, options?: WriteOptions): Write<V>;
  /**
   * What may be there at some instant from `from` to `to`, both included.
   * @param applied writes that the reader has seen already: what came before them is not possible
   */
  possible(from: number, to?: number, applied?: Applied): readonly Write<V>[];
  /** Whether another one may have come after it. */
  mayBeReplaced(write: Write<V>): boolean;
}

const NOTHING: Applied = new Set();

export function createRegister<V>(initial: V): Register<V> {
  const writes: Write<V>[] = [];

  function begin(value: V, from: number, { owners = [], ends = null }: WriteOptions = {}): Write<V> {
    const to = Number.POSITIVE_INFINITY;
    const write = { value, by: '', from, to, isCertain: false, isVoid: false, owners, ends };
    writes.push(write);
    return write;
  }

  done(begin(initial, 0), 0);
  return {
    writes,
    begin,
    possible(from, to = from, applied = NOTHING) {
      const isReplaced = (write: Write<V>): boolean =>
        writes.some(
          (other) => isAfter(other, write) && (applied.has(other) || (other.isCertain && other.to <= from)),
        );
      return writes.filter((write) => !write.isVoid && write.from <= to && !isReplaced(write));
    },
    mayBeReplaced: (write) =>
      writes.some((later) => later !== write && !later.isVoid && !isAfter(write, later)),
  };
}

/** Whether `later` comes after `write` in every order that the intervals allow. */
function isAfter(later: Write<unknown>, write: Write<unknown>): boolean {
  if (later.isVoid || later === write) return false;
  return write.to < later.from || (later.ends !== null && write.owners.includes(later.ends));
}

/** The write was done, at an instant before `at`. */
export function done(write: Write<unknown>, at: number): void {
  write.isCertain = true;
  write.to = Math.min(write.to, at);
}

/** Nobody knows whether it was done; after `at` it will not be. */
export function endsBy(write: Write<unknown>, at: number): void {
  write.to = Math.min(write.to, at);
}
