import {
  type CompiledQuery,
  type DatabaseConnection,
  DefaultQueryExecutor,
  type KyselyProps,
  type QueryResult,
  Transaction,
} from 'kysely';
import type { Database } from '../schema.ts';
import type { Tx } from '../store.ts';
import { type SqliteConnection, sqliteDialect } from './driver.ts';

/** The Kysely handle of one unit of work. */
export interface Unit {
  readonly tx: Tx;
  /** From here on statements on `tx` reject: a forgotten `await` would otherwise write into the next unit. */
  end(): void;
}

/** Makes the Kysely handles of units that run one after another on the writer connection. */
export function unitFactory(connection: SqliteConnection): () => Unit {
  const dialect = sqliteDialect(connection);
  const driver = dialect.createDriver();
  const compiler = dialect.createQueryCompiler();
  const adapter = dialect.createAdapter();
  return () => {
    const guard = new UnitConnection(connection);
    const provider = {
      provideConnection: <T>(use: (connection: DatabaseConnection) => Promise<T>) => use(guard),
    };
    const executor = new DefaultQueryExecutor(compiler, adapter, provider);
    const props: KyselyProps = { config: { dialect }, dialect, driver, executor };
    return { tx: new Transaction<Database>(props), end: () => guard.end() };
  };
}

class UnitConnection implements DatabaseConnection {
  readonly #connection: SqliteConnection;
  #ended = false;

  constructor(connection: SqliteConnection) {
    this.#connection = connection;
  }

  async executeQuery<R>(query: CompiledQuery): Promise<QueryResult<R>> {
    if (this.#ended) throw new Error('the unit of work is over');
    return this.#connection.executeQuery<R>(query);
  }

  streamQuery<R>(): AsyncIterableIterator<QueryResult<R>> {
    return this.#connection.streamQuery<R>();
  }

  end(): void {
    this.#ended = true;
  }
}
