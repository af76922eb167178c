import type { DatabaseSync, SQLInputValue, StatementSync } from 'node:sqlite';
import { setImmediate as nextTick } from 'node:timers/promises';
import {
  type CompiledQuery,
  type DatabaseConnection,
  type Dialect,
  type Driver,
  type QueryResult,
  type SelectModifierNode,
  SqliteAdapter,
  SqliteIntrospector,
  SqliteQueryCompiler,
} from 'kysely';

/** Prepared statements per connection; the oldest is dropped. Lists of varying length make many texts of one statement. */
const PREPARED_MAX = 512;

/**
 * Milliseconds of statements after which other work of the process may run. Statements are synchronous: a loop of reads would
 * otherwise block the event loop to its end.
 */
const BURST_MS = 5;

interface Prepared {
  readonly statement: StatementSync;
  readonly givesRows: boolean;
}

/** Kysely's connection over `node:sqlite`: synchronous underneath, so a statement is done when its promise is made. */
export class SqliteConnection implements DatabaseConnection {
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
    return this.#prepare(sql).statement.all();
  }

  async executeQuery<R>(query: CompiledQuery): Promise<QueryResult<R>> {
    const { statement, givesRows } = this.#prepare(query.sql);
    const parameters = query.parameters as SQLInputValue[];
    if (givesRows) {
      const rows = statement.all(...parameters) as R[];
      return { rows, numAffectedRows: BigInt(rows.length) };
    }
    const { changes } = statement.run(...parameters);
    return { rows: [], numAffectedRows: BigInt(changes) };
  }

  /** A stream would hold a snapshot open, and with it the write-ahead log. Page by key instead. */
  streamQuery<R>(): AsyncIterableIterator<QueryResult<R>> {
    throw new Error('the store does not stream: page by key');
  }

  close(): void {
    this.#prepared.clear();
    if (this.#db.isOpen) this.#db.close();
  }

  #prepare(sql: string): Prepared {
    const known = this.#prepared.get(sql);
    if (known !== undefined) return known;
    const statement = this.#db.prepare(sql);
    const prepared = { statement, givesRows: statement.columns().length > 0 };
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

/** Leaves out row locks such as `for update`: SQLite has none, since it has one writer at a time. */
class Compiler extends SqliteQueryCompiler {
  protected override visitSelectModifier(node: SelectModifierNode): void {
    if (node.modifier?.startsWith('For') || node.modifier === 'SkipLocked' || node.modifier === 'NoWait')
      return;
    super.visitSelectModifier(node);
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

/** The dialect over one open connection. Its driver begins no transaction: `GroupCommit` does, for units of work. */
export function sqliteDialect(connection: SqliteConnection): Dialect {
  return {
    createAdapter: () => new Adapter(),
    createQueryCompiler: () => new Compiler(),
    createIntrospector: (db) => new SqliteIntrospector(db),
    createDriver: () => sqliteDriver(connection),
  };
}

function sqliteDriver(connection: SqliteConnection): Driver {
  let burstEnd = 0;
  const refuse = (): Promise<void> => Promise.reject(new Error('units of work go through Store.write'));
  return {
    init: async () => {},
    acquireConnection: async () => {
      if (performance.now() >= burstEnd) {
        await nextTick();
        burstEnd = performance.now() + BURST_MS;
      }
      return connection;
    },
    beginTransaction: refuse,
    commitTransaction: refuse,
    rollbackTransaction: refuse,
    releaseConnection: async () => {},
    destroy: async () => connection.close(),
  };
}
