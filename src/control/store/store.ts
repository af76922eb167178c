import type { Kysely, Transaction } from 'kysely';
import type { ChangeSource } from '../../feed/change-source.ts';
import type { WorkTopic } from './engine/work-topics.ts';
import type { Database } from './schema.ts';

export type Reader = Kysely<Database>;
export type Tx = Transaction<Database>;

/** Statements take either: reads may run inside a unit of work. */
export type Db = Reader | Tx;

export interface Store {
  readonly engine: 'sqlite' | 'postgres';
  /** A connection that never waits for writers. Sees every acknowledged write. */
  readonly read: Reader;
  /**
   * Runs a unit of work: all of it is committed and on disk when the promise resolves, or none of it when it rejects.
   * `work` must only await statements on `tx`, and may be run again after a deadlock: it keeps no state of its own. It
   * lets a failed statement throw, for PostgreSQL runs nothing more in that transaction. When it appended changes,
   * the listeners of `changes` are called after it; other units wake nobody.
   */
  write<T>(work: (tx: Tx) => Promise<T>): Promise<T>;
  readonly changes: ChangeSource;
  /**
   * Calls back after a unit that left work of this kind (`markWork`), on PostgreSQL also for units of other processes. May
   * be lost or come twice: a hint, not a message. Returns the way to stop.
   */
  onWork(topic: WorkTopic, listener: () => void): () => void;
  /**
   * Brings erasures to the disk: deleted bytes leave the files of the embedded engine, write-ahead log included. On
   * PostgreSQL that is its own vacuum's work.
   *
   * @returns false when another process was in the way: call again later
   */
  scrub(): Promise<boolean>;
  /** Rejects within two seconds when the database is gone or takes no writes. */
  ping(): Promise<void>;
  /** Finishes the units that wait, then closes; a later `write` rejects. */
  close(): Promise<void>;
}
