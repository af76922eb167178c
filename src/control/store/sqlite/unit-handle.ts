import {
  type CompiledQuery,
  type ConnectionProvider,
  type DatabaseConnection,
  DefaultQueryExecutor,
  type DialectAdapter,
  type KyselyProps,
  type QueryCompiler,
  type QueryResult,
  Transaction,
} from 'kysely';
import type { Database } from '../schema.ts';
import type { Tx } from '../store.ts';
import { type SqliteConnection, sqliteDialect } from './driver.ts';

/** A transaction handle that goes dead with its unit, so that a forgotten `await` cannot write into another's. */
export interface Unit {
  readonly tx: Tx;
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
    const executor = new UnitExecutor(compiler, adapter, provider, guard);
    const props: KyselyProps = { config: { dialect }, dialect, driver, executor };
    return { tx: new Transaction<Database>(props), end: () => guard.end() };
  };
}

/** A unit has one connection from its beginning to its end: none is asked for with each statement. */
class UnitExecutor extends DefaultQueryExecutor {
  readonly #connection: UnitConnection;

  constructor(
    compiler: QueryCompiler,
    adapter: DialectAdapter,
    provider: ConnectionProvider,
    connection: UnitConnection,
  ) {
    super(compiler, adapter, provider);
    this.#connection = connection;
  }

  override executeQuery<R>(query: CompiledQuery): Promise<QueryResult<R>> {
    return this.#connection.executeQuery<R>(query);
  }
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
