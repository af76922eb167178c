/** One line of an items file. Its names are those of docs/DATASETS.md. */
export interface Line {
  readonly k: string;
  /** A date, unix seconds, or null: open. */
  readonly from: string | number | null;
  readonly to: string | number | null;
  readonly issuer: string;
  readonly brand: string;
  readonly cc: string;
  readonly type: string;
}

/**
 * `count` numbers in ascending order, spread over 0 to `size` - 1: one in each of `count` equal parts.
 * @param at where in part `i`, 0 to `room` - 1
 */
export function* spread(
  count: number,
  size: number,
  at: (i: number, room: number) => number,
): Generator<number> {
  const room = Math.floor(size / count);
  for (let i = 0; i < count; i++) yield i * room + at(i, room);
}

/** How many of `total` fall to part `index` of `parts`: the parts differ by one at most. */
export function shareOf(total: number, index: number, parts: number): number {
  return Math.floor((total * (index + 1)) / parts) - Math.floor((total * index) / parts);
}

/** Merges sequences that ascend by `k`, as the check of an items file compares keys. Holds one value of each. */
export function* merge<T extends { readonly k: string }>(sequences: readonly Iterator<T>[]): Generator<T> {
  const heads = sequences.map((sequence) => ({ sequence, head: sequence.next() }));
  for (;;) {
    let least: (typeof heads)[number] | undefined;
    for (const entry of heads) {
      if (entry.head.done) continue;
      if (least === undefined || entry.head.value.k < (least.head.value as T).k) least = entry;
    }
    if (least === undefined) return;
    yield least.head.value as T;
    least.head = least.sequence.next();
  }
}
