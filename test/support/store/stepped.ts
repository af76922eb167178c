/** A store whose work stops where a test wants it, so that a race takes one order and not any. */
import { setImmediate as turn } from 'node:timers/promises';
import type { Db, Store, Tx } from '../../../src/store/store.ts';

/** Work that has come to a step. */
export interface Stop {
  /** Resolves with the text of the step's statement, or `commit`, once some work stands before it. */
  readonly reached: Promise<string>;
  /** Lets the work go on, and every later step. */
  go(): void;
}

export interface SteppedStore {
  readonly store: Store;
  /**
   * Stops before the step of this number, from 0 on. A step is a statement that writes or locks, or the commit of a unit: what the work has
   * read before it may be no longer true.
   */
  stopAt(step: number): Stop;
  /** The first statement of each unit that ran more than once. */
  readonly repeated: string[];
}

const WRITES = /^\s*(insert|update|delete)\b|\bfor (update|share|no key update)\b/;

/** @param insideUnits false: units of SQLite, which has one writer, stop only before their beginning */
export function steppedStore(store: Store, insideUnits = store.engine === 'postgres'): SteppedStore {
  let left = Number.POSITIVE_INFINITY;
  let reach: (text: string) => void = () => {};
  let gate: Promise<void> | null = null;
  const repeated: string[] = [];
  const step = async (text: string): Promise<void> => {
    if (left-- !== 0) return;
    reach(text);
    await gate;
  };
  const stepped = <D extends Db>(db: D, onFirst: (sql: string) => unknown = () => {}): D => {
    const execute = db.execute.bind(db);
    let isFirst = true;
    const before: Db['execute'] = async (sql, values) => {
      if (isFirst) onFirst(sql);
      isFirst = false;
      if (WRITES.test(sql)) await step(sql);
      return execute(sql, values);
    };
    // In place: what a unit marks is kept under its handle.
    return Object.assign(db, { execute: before });
  };
  return {
    repeated,
    store: {
      ...store,
      read: stepped({ ...store.read }),
      async write(work) {
        if (!insideUnits) await step('begin');
        let runs = 0;
        return store.write(async (tx: Tx) => {
          runs++;
          const value = await work(insideUnits ? stepped(tx, (sql) => runs === 2 && repeated.push(sql)) : tx);
          if (insideUnits) await step('commit');
          return value;
        });
      },
    },
    stopAt(number) {
      const reached = Promise.withResolvers<string>();
      const open = Promise.withResolvers<void>();
      left = number;
      reach = reached.resolve;
      gate = open.promise;
      return {
        reached: reached.promise,
        go() {
          left = Number.POSITIVE_INFINITY;
          open.resolve();
        },
      };
    },
  };
}

/** Waits until some work has ended, or waits for a lock that another one holds. */
export async function endedOrBlocked(work: Promise<unknown>, read: Db): Promise<void> {
  let hasEnded = false;
  const end = (): void => {
    hasEnded = true;
  };
  work.then(end, end);
  while (!hasEnded && !(await isSomethingBlocked(read))) await turn();
}

const BLOCKED = `select 1 from pg_stat_activity
  where datname = current_database() and wait_event_type = 'Lock'`;

/** Whether a statement waits for a lock. */
export async function isSomethingBlocked(read: Db): Promise<boolean> {
  return read.engine === 'postgres' && (await read.execute(BLOCKED, [])).count > 0;
}
