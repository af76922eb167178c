import type { ChangeSource } from '../feed/ports/change-source.ts';

/**
 * What a unit leaves for loops of some process: deliveries that are due, namespaces that are to be deleted, rows of the query log
 * that open streams read, and credentials that ended.
 */
export const WORK_TOPICS = ['deliveries', 'deletions', 'query_log', 'credentials'] as const;
export type WorkTopic = (typeof WORK_TOPICS)[number];

type Engine = 'sqlite' | 'postgres';

/** Rows of a statement, and how many rows it wrote or read. */
export interface Result<R> {
  readonly rows: R[];
  readonly count: number;
}

/** A reader or a unit of work: statements that only read take either. `engine/statement.ts` makes the texts. */
export interface Db {
  readonly engine: Engine;
  /** @param values of the parameters, in the order of their numbers. Rejects with the engine's error */
  execute<R>(sql: string, values: readonly unknown[]): Promise<Result<R>>;
}

/** What a row that is inserted with the commit may have in a column. */
export type LastValue = string | number | null;

/** Inserts any number of rows, whose values have the order of its columns. `rowInsert` makes it. */
export interface RowInsert {
  (tx: Tx, rows: readonly (readonly (LastValue | Uint8Array)[])[]): Promise<void>;
  /** The text of one row on PostgreSQL. */
  readonly one: string;
}

/** A unit of work. When it is over, its statements reject: a forgotten `await` would otherwise write into the next unit. */
export interface Tx extends Db {
  readonly isUnit: true;
  /** Makes the id of a row of this time, milliseconds. They ascend, so that rows of one millisecond stay in their order. */
  readonly rowId: (at: number) => string;
  /**
   * Inserts a row, at the latest with the commit: on PostgreSQL it then costs no round trip and no plan of its own. The unit does not count on
   * seeing it. A failure is that of the unit.
   */
  insertLast(insert: RowInsert, values: readonly LastValue[]): Promise<void>;
}

export interface Store {
  readonly engine: Engine;
  /** A connection that never waits for writers. Sees every acknowledged write. */
  readonly read: Db;
  /**
   * Runs a unit of work: all of it is committed and on disk when the promise resolves, or none of it when it rejects. `work` must only
   * await statements on `tx`. It may run again after a deadlock, so it must not change state outside. It must let a failed statement throw:
   * PostgreSQL runs nothing more in that transaction. The listeners of `changes` are called after a unit that appended changes.
   */
  write<T>(work: (tx: Tx) => Promise<T>): Promise<T>;
  readonly changes: ChangeSource;
  /**
   * Calls back after a unit that left work of this kind (`markWork`), on PostgreSQL also for units of other processes. May
   * be lost or come twice: a hint, not a message. Returns the way to stop.
   */
  onWork(topic: WorkTopic, listener: () => void): () => void;
  /**
   * Calls back after every unit of this process, and after those units of other processes that it hears of: on SQLite all of them, on
   * PostgreSQL those that appended changes or left work. A hint, as `onWork`.
   */
  onCommit(listener: () => void): () => void;
  /**
   * Removes deleted bytes from the files of the embedded engine, write-ahead log included; copies that rows left behind where they were
   * before, 8 MiB of the file at each call. On PostgreSQL it does nothing: vacuum removes them.
   * @returns false when another process was in the way: call again later
   */
  scrub(): Promise<boolean>;
  /** Rejects within two seconds when the database is gone or takes no writes. */
  ping(): Promise<void>;
  /** Finishes the units that wait, then closes; a later `write` rejects. */
  close(): Promise<void>;
}
