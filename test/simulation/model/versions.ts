/**
 * What a namespace keeps of what was written in it, as docs/CHANGES.md says: the rules once more, for somebody who waits for each answer before
 * he goes on. Nothing in it expires.
 */

/** What ended a version; `create`: a record was made, so that nothing was ended. */
type Cause = 'write' | 'delete' | 'create';

interface Row {
  readonly key: string;
  readonly number: number;
  readonly cause: Cause;
  readonly data: string | null;
  /** The write that made the row. */
  readonly write: Write;
}

/** A write, as it can be undone. */
export interface Write {
  /** How many rows it made. */
  rows: number;
}

interface Present {
  readonly number: number;
  readonly data: string;
}

export type Undone = 'missing' | 'changed' | 'done';

export interface Versions {
  /** @param versions of each record; null: no history */
  keep(versions: number | null): void;
  isKept(): boolean;
  present(key: string): Present | null;
  /** One write: values, and null for keys that are deleted. */
  write(values: ReadonlyMap<string, string | null>): Write;
  /** A deletion of which nothing is kept. */
  erase(key: string): void;
  eraseVersions(key: string): void;
  /** Numbers and causes, the newest first; the present one has no cause. */
  list(key: string): readonly (readonly [number: number, cause: string | null])[];
  /** Of all keys, without the present ones. */
  count(): number;
  /** Null: there is none of this number. */
  data(key: string, number: number): string | null;
  /** What an undo of the write does; `done`: it is done, as another write. */
  undo(write: Write): { readonly how: Undone; readonly write: Write | null };
}

export function createVersions(): Versions {
  const presents = new Map<string, Present>();
  let most: number | null = null;
  let rows: Row[] = [];

  const rowsOf = (key: string): readonly Row[] => rows.filter((row) => row.key === key);
  const lastOf = (key: string): number => Math.max(0, ...rowsOf(key).map(({ number }) => number));
  /** Of a key: `create` comes after the end of the same number. */
  const rankOf = ({ number, cause }: Row): number => 2 * number + (cause === 'create' ? 1 : 0);

  function put(write: Write, key: string, data: string | null): void {
    const before = presents.get(key);
    if (before === undefined && data === null) return;
    const number = before?.number ?? (most === null ? 0 : lastOf(key));
    const cause = before === undefined ? 'create' : data === null ? 'delete' : 'write';
    if (data === null) presents.delete(key);
    else presents.set(key, { number: number + 1, data });
    if (most === null) return;
    write.rows++;
    rows.push({ key, number, cause, data: before?.data ?? null, write });
    const last = number - most;
    // That a key was made first, as number 0, is dropped with its first value.
    if (last > 0) rows = rows.filter((row) => row.key !== key || row.number > last);
  }

  function written(values: ReadonlyMap<string, string | null>): Write {
    const write: Write = { rows: 0 };
    for (const [key, data] of values) put(write, key, data);
    return write;
  }

  function eraseVersions(key: string): void {
    rows = rows.filter((row) => row.key !== key);
  }

  return {
    keep(versions) {
      if (versions === null) rows = [];
      most = versions;
    },
    isKept: () => most !== null,
    present: (key) => presents.get(key) ?? null,
    write: written,
    erase(key) {
      presents.delete(key);
      eraseVersions(key);
    },
    eraseVersions,
    list(key) {
      const present = presents.get(key);
      const ended = rowsOf(key)
        .filter(({ cause }) => cause !== 'create')
        .map(({ number, cause }): [number, string] => [number, cause])
        .toSorted(([a], [b]) => b - a);
      return present === undefined ? ended : [[present.number, null], ...ended];
    },
    count: () => rows.filter(({ cause }) => cause !== 'create').length,
    data(key, number) {
      const present = presents.get(key);
      if (present?.number === number) return present.data;
      return rowsOf(key).find((row) => row.number === number && row.cause !== 'create')?.data ?? null;
    },
    undo(write) {
      const own = rows.filter((row) => row.write === write);
      if (own.length === 0 || own.length !== write.rows) return { how: 'missing', write: null };
      const isChanged = own.some((row) => {
        const present = presents.get(row.key);
        if (present !== undefined) return row.cause === 'delete' || present.number !== row.number + 1;
        return rowsOf(row.key).some((other) => rankOf(other) > rankOf(row));
      });
      if (isChanged) return { how: 'changed', write: null };
      return { how: 'done', write: written(new Map(own.map(({ key, data }) => [key, data]))) };
    },
  };
}
