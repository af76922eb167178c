import type { DatabaseSync, SQLInputValue, StatementSync } from 'node:sqlite';
import { nextTurn, type Timers } from '../../base/lifecycle/timers.ts';
import type { Db, Result, Tx } from '../store.ts';

/** Prepared statements per connection; the oldest is dropped. */
const PREPARED_MAX = 512;

/**
 * Milliseconds of statements after which other work of the process may run. Statements are synchronous: a loop of reads would
 * otherwise block the event loop to its end.
 */
const BURST_MS = 5;

interface Prepared {
  readonly statement: StatementSync;
  /** Names of its columns; empty: it gives no rows. */
  columns: readonly string[];
}

type Row = Record<string, unknown>;

export type Database = Pick<DatabaseSync, 'prepare' | 'close' | 'isOpen' | 'isTransaction'>;

/** A connection of `node:sqlite`, which is synchronous, with the statements that it has prepared. */
export class SqliteConnection {
  readonly #db: Database;
  readonly #prepared = new Map<string, Prepared>();

  constructor(db: Database) {
    this.#db = db;
  }

  /** False once SQLite itself rolled back, as it does when the disk is full. */
  get inTransaction(): boolean {
    return this.#db.isTransaction;
  }

  /** Runs one statement without parameters, such as BEGIN, and returns its rows. */
  run(sql: string): unknown[] {
    return rowsOf(this.#prepare(sql), []);
  }

  execute<R>(sql: string, values: readonly unknown[]): Result<R> {
    const prepared = this.#prepare(sql);
    const parameters = values as SQLInputValue[];
    if (prepared.columns.length > 0) {
      const rows = rowsOf(prepared, parameters) as R[];
      return { rows, count: rows.length };
    }
    const { changes } = prepared.statement.run(...parameters);
    return { rows: [], count: Number(changes) };
  }

  close(): void {
    this.#prepared.clear();
    if (this.#db.isOpen) this.#db.close();
  }

  #prepare(sql: string): Prepared {
    const known = this.#prepared.get(sql);
    if (known !== undefined) return known;
    const statement = this.#db.prepare(sql);
    const prepared = { statement, columns: columnsOf(statement) };
    if (prepared.columns.length > 0) statement.setReturnArrays(true);
    if (this.#prepared.size >= PREPARED_MAX) {
      for (const oldest of this.#prepared.keys()) {
        this.#prepared.delete(oldest);
        break;
      }
    }
    this.#prepared.set(sql, prepared);
    return prepared;
  }
}

function columnsOf(statement: StatementSync): readonly string[] {
  return statement.columns().map(({ name }) => name);
}

/**
 * The rows as objects of one shape. Those that Node makes are dictionaries: making and reading a row of five columns takes 1.7 us with
 * them and 0.95 us so.
 */
function rowsOf(prepared: Prepared, parameters: readonly SQLInputValue[]): Row[] {
  const rows = prepared.statement.all(...parameters) as unknown as unknown[][];
  // After a migration by another process, SQLite compiles `select *` again.
  if (rows[0] !== undefined && rows[0].length !== prepared.columns.length)
    prepared.columns = columnsOf(prepared.statement);
  const { columns } = prepared;
  return rows.map((values) => {
    const row: Row = {};
    for (let i = 0; i < columns.length; i++) row[columns[i]!] = values[i];
    return row;
  });
}

/** The reader of the store. */
export function readerOn(connection: SqliteConnection, timers: Pick<Timers, 'elapsed'>): Db {
  let burstEnd = 0;
  return {
    engine: 'sqlite',
    async execute(sql, values) {
      if (timers.elapsed() >= burstEnd) {
        await nextTurn();
        burstEnd = timers.elapsed() + BURST_MS;
      }
      return connection.execute(sql, values);
    },
  };
}

/** A unit of work on the writer connection. */
interface Unit {
  readonly tx: Tx;
  /** From here on statements on `tx` reject. */
  end(): void;
}

export function newUnit(connection: SqliteConnection, rowId: Tx['rowId']): Unit {
  let ended = false;
  const tx: Tx = {
    engine: 'sqlite',
    isUnit: true,
    rowId,
    async execute(sql, values) {
      if (ended) throw new Error('the unit of work is over');
      return connection.execute(sql, values);
    },
    // Statements cost no round trip here, and one of eight rows costs what eight cost.
    insertLast: (insert, values) => insert(tx, [values]),
  };
  return {
    tx,
    end() {
      ended = true;
    },
  };
}
