import type { DatabaseSync, SQLInputValue, StatementSync } from 'node:sqlite';
import { setImmediate as nextTick } from 'node:timers/promises';
import {
  type CompiledQuery,
  type DatabaseConnection,
  DefaultQueryExecutor,
  type Dialect,
  type Driver,
  type KyselyProps,
  type LimitNode,
  type QueryResult,
  type SelectModifierNode,
  SqliteAdapter,
  SqliteIntrospector,
  SqliteQueryCompiler,
} from 'kysely';
import { NO_PEEK } from '../engine/statement.ts';

/** Prepared statements per connection; the oldest is dropped. Lists of varying length make many texts of one statement. */
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

/** A connection of `node:sqlite`, which is synchronous, with the statements that it has prepared. */
export class SqliteConnection {
  readonly #db: DatabaseSync;
  readonly #prepared = new Map<string, Prepared>();

  constructor(db: DatabaseSync) {
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

  execute<R>(query: CompiledQuery): QueryResult<R> {
    const prepared = this.#prepare(query.sql);
    const parameters = query.parameters as SQLInputValue[];
    if (prepared.columns.length > 0) {
      const rows = rowsOf(prepared, parameters) as R[];
      return { rows, numAffectedRows: BigInt(rows.length) };
    }
    const { changes } = prepared.statement.run(...parameters);
    return { rows: [], numAffectedRows: BigInt(changes) };
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

/** Leaves out row locks such as `for update`: SQLite has none, since it has one writer at a time. */
class Compiler extends SqliteQueryCompiler {
  protected override visitSelectModifier(node: SelectModifierNode): void {
    if (node.modifier?.startsWith('For') || node.modifier === 'SkipLocked' || node.modifier === 'NoWait')
      return;
    super.visitSelectModifier(node);
  }

  protected override visitLimit(node: LimitNode): void {
    super.visitLimit(node);
    this.append(NO_PEEK);
  }
}

class Adapter extends SqliteAdapter {
  /** Switches off Kysely's mutex: the connection is synchronous, so statements never overlap. */
  override get supportsMultipleConnections(): boolean {
    return true;
  }

  override get supportsTransactionalDdl(): boolean {
    return true;
  }
}

// One of each for all handles: a compiler binds a hundred methods when it is made, which is too much for each unit of work.
const COMPILER = new Compiler();
const ADAPTER = new Adapter();

/** A stream would hold a snapshot open, and with it the write-ahead log. Page by key instead. */
function refuseStream(): never {
  throw new Error('the store does not stream: page by key');
}

/** Runs a compiled statement; rejects with the engine's error. */
type Execute = <R>(query: CompiledQuery) => Promise<QueryResult<R>>;

/**
 * Gives statements to `execute` at once. Kysely's own executor takes and releases a connection around each of them, which costs more
 * than SQLite needs for a small one.
 */
class Executor extends DefaultQueryExecutor {
  readonly #execute: Execute;

  constructor(execute: Execute) {
    const connection: DatabaseConnection = { executeQuery: execute, streamQuery: refuseStream };
    super(COMPILER, ADAPTER, { provideConnection: (use) => use(connection) });
    this.#execute = execute;
  }

  override executeQuery<R>(query: CompiledQuery): Promise<QueryResult<R>> {
    return this.#execute<R>(query);
  }
}

const DIALECT: Dialect = {
  createAdapter: () => ADAPTER,
  createQueryCompiler: () => COMPILER,
  createIntrospector: (db) => new SqliteIntrospector(db),
  createDriver: () => DRIVER,
};

const refuse = (): Promise<never> => Promise.reject(new Error('units of work go through Store.write'));

/** Of nothing: the executor knows its connection, and `GroupCommit` begins transactions. */
const DRIVER: Driver = {
  init: async () => {},
  acquireConnection: refuse,
  beginTransaction: refuse,
  commitTransaction: refuse,
  rollbackTransaction: refuse,
  releaseConnection: async () => {},
  destroy: async () => {},
};

/** What a Kysely handle is made of whose statements `execute` runs. */
export function handleProps(execute: Execute): KyselyProps {
  const executor = new Executor(execute);
  return { config: { dialect: DIALECT }, dialect: DIALECT, driver: DRIVER, executor };
}

/** Runs statements on the connection of readers. */
export function readerExecute(connection: SqliteConnection): Execute {
  let burstEnd = 0;
  return async (query) => {
    if (performance.now() >= burstEnd) {
      await nextTick();
      burstEnd = performance.now() + BURST_MS;
    }
    return connection.execute(query);
  };
}
