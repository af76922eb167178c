import { createDrain } from '../../base/lifecycle/loop.ts';
import { pause, type Timers } from '../../base/lifecycle/timers.ts';
import { isBusy } from '../engine/engine-errors.ts';
import { joinMarks, type Marks, marksOf } from '../engine/signals.ts';
import type { Tx } from '../store.ts';
import { newUnit, type SqliteConnection } from './driver.ts';

/** Units that share a commit at most. */
const BATCH_UNITS = 128;
/** Milliseconds of units after which a batch is committed: statements are synchronous, so nothing else runs meanwhile. */
const BATCH_MS = 20;
/** How long another process may hold the writer lock before the units that wait for it are refused. */
const LOCK_WAIT_MS = 30_000;
const LOCK_RETRY_MS = 2;

interface Job {
  run(tx: Tx): Promise<unknown>;
  resolve(value: unknown): void;
  reject(error: unknown): void;
}

interface GroupCommitPorts {
  readonly timers: Timers;
  readonly rowId: Tx['rowId'];
  /** Throws where the file is not the one that was opened: a commit into it would be acknowledged, and lost with the process. */
  readonly checkPlace: () => void;
}

type Done = { readonly job: Job; readonly value: unknown; readonly marks: Marks };
type Ran =
  | (Omit<Done, 'job'> & { readonly ok: true })
  | {
      readonly ok: false;
      readonly error: unknown /** The transaction is as before the unit. */;
      readonly isUndone: boolean;
    };

/**
 * The one writer of the embedded engine. Units queue; those that wait are run in one transaction, each but the first in its
 * own savepoint, and one sync to disk acknowledges them all. A unit that throws takes only itself back.
 */
export class GroupCommit {
  readonly #connection: SqliteConnection;
  readonly #committed: (marks: Marks) => void;
  readonly #timers: Timers;
  readonly #rowId: Tx['rowId'];
  readonly #checkPlace: () => void;
  readonly #queue: Job[] = [];
  readonly #between: (() => void)[] = [];
  readonly #drain = createDrain(
    () => this.#queue.length > 0 || this.#between.length > 0,
    () => this.#step(),
  );
  #closed = false;

  /** @param committed called after each commit, with what its units did */
  constructor(
    connection: SqliteConnection,
    committed: (marks: Marks) => void,
    { timers, rowId, checkPlace }: GroupCommitPorts,
  ) {
    this.#checkPlace = checkPlace;
    this.#timers = timers;
    this.#rowId = rowId;
    this.#connection = connection;
    this.#committed = committed;
  }

  write<T>(work: (tx: Tx) => Promise<T>): Promise<T> {
    if (this.#closed) return Promise.reject(new Error('the store is closed'));
    return new Promise<T>((resolve, reject) => {
      this.#queue.push({ run: work, resolve: (value) => resolve(value as T), reject });
      this.#drain.start();
    });
  }

  /** Runs `task` on the writer connection while no transaction is open. */
  between<T>(task: () => T): Promise<T> {
    if (this.#closed) return Promise.reject(new Error('the store is closed'));
    return new Promise<T>((resolve, reject) => {
      this.#between.push(() => {
        try {
          resolve(task());
        } catch (error) {
          reject(error);
        }
      });
      this.#drain.start();
    });
  }

  /** Refuses new work and waits for what was accepted. */
  async close(): Promise<void> {
    this.#closed = true;
    await this.#drain.idle();
  }

  async #step(): Promise<void> {
    for (const task of this.#between.splice(0)) task();
    if (this.#queue.length > 0) await this.#batch();
  }

  async #batch(): Promise<void> {
    try {
      await this.#begin();
    } catch (error) {
      for (const job of this.#queue.splice(0)) job.reject(error);
      return;
    }
    const done: Done[] = [];
    const end = this.#timers.elapsed() + BATCH_MS;
    for (let units = 0; units < BATCH_UNITS && this.#queue.length > 0; units++) {
      const job = this.#queue.shift()!;
      const ran = await this.#runUnit(job, units === 0);
      if (ran.ok) done.push({ ...ran, job });
      else job.reject(ran.error);
      if (!ran.ok && !ran.isUndone) {
        this.#rollback();
        return rejectAll(done, ran.error);
      }
      if (!this.#connection.inTransaction) return rejectAll(done, lost());
      if (this.#timers.elapsed() >= end) break;
    }
    this.#commit(done);
  }

  /** BEGIN IMMEDIATE takes the writer lock, so that no later statement of the batch can find it taken. */
  async #begin(): Promise<void> {
    this.#rollback();
    const end = this.#timers.elapsed() + LOCK_WAIT_MS;
    for (;;) {
      try {
        this.#connection.run('begin immediate');
        return;
      } catch (error) {
        if (!isBusy(error) || this.#timers.elapsed() >= end) throw error;
      }
      await pause(this.#timers, LOCK_RETRY_MS);
    }
  }

  /** @param isFirst it needs no savepoint: when it fails, the whole transaction is taken back */
  async #runUnit(job: Job, isFirst: boolean): Promise<Ran> {
    const unit = newUnit(this.#connection, this.#rowId);
    try {
      if (!isFirst) this.#connection.run('savepoint unit');
      const value = await job.run(unit.tx);
      unit.end();
      if (!isFirst) this.#connection.run('release unit');
      return { ok: true, value, marks: marksOf(unit.tx) };
    } catch (error) {
      unit.end();
      return { ok: false, error, isUndone: !isFirst && this.#undoUnit() };
    }
  }

  /** @returns false: half a unit is left, or the transaction is gone, and the whole batch with it */
  #undoUnit(): boolean {
    try {
      this.#connection.run('rollback to unit');
      this.#connection.run('release unit');
      return true;
    } catch {
      return false;
    }
  }

  #commit(done: readonly Done[]): void {
    try {
      this.#checkPlace();
      this.#connection.run('commit');
    } catch (error) {
      this.#rollback();
      rejectAll(done, error);
      return;
    }
    for (const { job, value } of done) job.resolve(value);
    if (done.length > 0) this.#committed(joinMarks(done.map(({ marks }) => marks)));
  }

  /** A rollback that fails leaves the transaction open; the next batch tries again, before anything else. */
  #rollback(): void {
    try {
      if (this.#connection.inTransaction) this.#connection.run('rollback');
    } catch {
      // What it is about is told by the error that made the rollback necessary.
    }
  }
}

function rejectAll(done: readonly Done[], error: unknown): void {
  for (const { job } of done) job.reject(error);
}

function lost(): Error {
  return new Error('the transaction was rolled back');
}
