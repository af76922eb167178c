import {
  type CompiledQuery,
  type DatabaseConnection,
  type Driver,
  PostgresDialect,
  PostgresDriver,
  type PostgresPoolClient,
  type QueryResult,
} from 'kysely';
import { type CustomTypesConfig, Pool, type PoolClient, type PoolConfig, types } from 'pg';
import { statementName } from '../engine/statement.ts';

/** Milliseconds. A process that hangs inside a unit must not hold the log's row without limit. */
const CONNECT_TIMEOUT = 5_000;
const STATEMENT_TIMEOUT = 30_000;
/** Milliseconds that the client waits for an answer, for a network that drops it. */
const QUERY_TIMEOUT = 35_000;

const OID = { bytea: 17, int8: 20, numeric: 1700 };

/** Both engines give the same types: numbers for 64-bit integers (ours stay below 2^53) and sums, plain bytes for bytea. */
const PARSERS: Readonly<Record<number, (text: string) => unknown>> = {
  [OID.bytea]: (text) => {
    const bytes = Buffer.from(text.slice(2), 'hex');
    return new Uint8Array(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  },
  [OID.int8]: Number,
  [OID.numeric]: Number,
};

const TYPES: CustomTypesConfig = {
  getTypeParser: ((oid: number, format?: 'text' | 'binary') =>
    (format !== 'binary' && PARSERS[oid]) || types.getTypeParser(oid, format)) as typeof types.getTypeParser,
};

/** What every connection of ours, pooled or not, is made with. */
export function connectionConfig(url: string): PoolConfig {
  return {
    connectionString: url,
    connectionTimeoutMillis: CONNECT_TIMEOUT,
    statement_timeout: STATEMENT_TIMEOUT,
    idle_in_transaction_session_timeout: STATEMENT_TIMEOUT,
    query_timeout: QUERY_TIMEOUT,
    keepAlive: true,
    application_name: 'uqrp',
    types: TYPES,
  };
}

/** A pool that survives its server: a connection lost while idle is only taken out. */
export function newPool(url: string, max: number): Pool {
  // The pool waits for the promise before it gives the client out, although its type says void.
  // oxlint-disable-next-line typescript/no-misused-promises
  const pool = new Pool({ ...connectionConfig(url), max, onConnect: configure });
  pool.on('error', () => {});
  // A client reports a loss between statements too, while it is checked out; the next statement then rejects.
  pool.on('connect', (client) => client.on('error', () => {}));
  return pool;
}

/**
 * Statements are short. A list of thousands of ids makes PostgreSQL expect more cost than it has: it would compile the statement or start
 * processes for it, which takes longer than to run it.
 */
async function configure(client: { query(text: string): Promise<unknown> }): Promise<void> {
  await client.query('set jit = off; set max_parallel_workers_per_gather = 0');
}

/** Kysely's dialect over a pool. Its errors do not quote stored values. */
export class StoreDialect extends PostgresDialect {
  readonly #pool: Pool;

  constructor(pool: Pool) {
    super({ pool });
    this.#pool = pool;
  }

  override createDriver(): Driver {
    const pool = this.#pool;
    return new StoreDriver({
      pool: {
        connect: async () => namingClient(await pool.connect()),
        end: () => pool.end(),
        options: pool.options,
      },
    });
  }
}

/** A client of the pool that lets PostgreSQL keep the statements that have names. */
function namingClient(client: PoolClient): PostgresPoolClient {
  const query = (text: string, values: readonly unknown[]): Promise<unknown> => {
    const name = statementName(text);
    return client.query({ text, values: [...values], ...(name !== undefined && { name }) });
  };
  return { query: query as PostgresPoolClient['query'], release: (destroy) => client.release(destroy) };
}

/** Kysely's connection of its PostgreSQL driver, a type that it does not export. */
type PoolConnection = Parameters<PostgresDriver['releaseConnection']>[0];

class StoreDriver extends PostgresDriver {
  override async acquireConnection(): Promise<DatabaseConnection> {
    return new StoreConnection((await super.acquireConnection()) as PoolConnection);
  }

  override async rollbackTransaction(connection: DatabaseConnection): Promise<void> {
    await super.rollbackTransaction((connection as StoreConnection).inner);
  }

  override async releaseConnection(connection: DatabaseConnection): Promise<void> {
    await super.releaseConnection((connection as StoreConnection).inner);
  }
}

class StoreConnection implements DatabaseConnection {
  readonly inner: PoolConnection;

  constructor(inner: PoolConnection) {
    this.inner = inner;
  }

  async executeQuery<R>(query: CompiledQuery): Promise<QueryResult<R>> {
    try {
      return await this.inner.executeQuery<R>(query);
    } catch (error) {
      throw withoutValues(error);
    }
  }

  streamQuery<R>(): AsyncIterableIterator<QueryResult<R>> {
    throw new Error('the store does not stream: page by key');
  }
}

/** `detail` and `where` quote the values of the row that failed. */
function withoutValues(error: unknown): unknown {
  if (error instanceof Error) {
    for (const field of ['detail', 'where', 'internalQuery']) Reflect.deleteProperty(error, field);
  }
  return error;
}
