import {
  Client,
  type ClientBase,
  type CustomTypesConfig,
  DatabaseError,
  escapeLiteral,
  Pool,
  type PoolClient,
  type PoolConfig,
  type QueryResultRow,
  types,
} from 'pg';
import { uuidsOfTimes } from '../../base/ids.ts';
import { backgroundTimers } from '../../base/lifecycle/timers.ts';
import { statementName } from '../engine/statement.ts';
import type { Db, LastValue, Result, Tx } from '../store.ts';

/** Milliseconds. A process that hangs inside a unit must not hold the log's row without limit. */
const CONNECT_TIMEOUT = 5_000;
const STATEMENT_TIMEOUT = 30_000;
/** Milliseconds that the client waits for an answer, for a network that drops it. */
const QUERY_TIMEOUT = 35_000;
/** Milliseconds, for a statement that may take any time: the most that a timer takes. Zero would be taken for `QUERY_TIMEOUT`. */
export const PATIENT_TIMEOUT = 2_147_483_647;
/** Milliseconds of silence after which the kernel asks whether the server is still there; ten seconds without an answer end the connection. */
const KEEPALIVE_DELAY = 10_000;
/** Milliseconds that the end of a connection waits for the server to end it too. */
const END_TIMEOUT = 1_000;

const OID = { bytea: 17, int8: 20, numeric: 1700 };

/** Both engines give the same types: numbers for 64-bit integers (ours stay below 2^53) and sums, plain bytes for bytea. */
const PARSERS: Readonly<Record<number, (text: string) => unknown>> = {
  [OID.bytea]: (text) => {
    // In the other format (`bytea_output`) the octets would be others, without an error.
    if (!text.startsWith('\\x')) throw new Error('octets of PostgreSQL are not in hexadecimal digits');
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
    keepAliveInitialDelayMillis: KEEPALIVE_DELAY,
    application_name: 'uqrp',
    types: TYPES,
  };
}

/** A connection whose end is bounded: that of `pg` waits without limit for a server that stands still, and so would all who wait for it. */
export class BoundedClient extends Client {
  override end(): Promise<void>;
  override end(done: (error: Error) => void): void;
  override end(done?: (error: Error) => void): Promise<void> | void {
    // The stream is another one once TLS begins.
    const cancel = backgroundTimers.after(END_TIMEOUT, () => this.connection.stream.destroy());
    this.once('end', cancel);
    return done === undefined ? super.end() : super.end(done);
  }

  get isOpen(): boolean {
    return !this.connection.stream.destroyed;
  }

  /** Ends without a word to the server. What is under way on it rejects. */
  lose(): void {
    this.connection.stream.destroy();
  }
}

type Prepare = (client: ClientBase) => Promise<void>;

/** The open connections of each pool. */
const openOf = new WeakMap<Pool, Set<BoundedClient>>();

interface PoolOptions {
  /** Runs on each new connection before it is given out; one that it rejects is closed. */
  readonly prepare?: Prepare;
}

/** A pool that survives its server: a connection lost while idle is only taken out. */
export function newPool(url: string, max: number, { prepare }: PoolOptions = {}): Pool {
  const open = new Set<BoundedClient>();
  // The pool waits for the promise before it gives the client out, although its type says void.
  // oxlint-disable-next-line typescript/no-misused-promises
  const pool = new Pool({
    ...connectionConfig(url),
    Client: BoundedClient,
    max,
    async onConnect(client) {
      const connection = client as BoundedClient;
      open.add(connection);
      connection.once('end', () => open.delete(connection));
      await configure(client);
      await prepare?.(client);
    },
  });
  pool.on('error', () => {});
  // A client reports a loss between statements too, while it is checked out; the next statement then rejects.
  pool.on('connect', (client) => client.on('error', () => {}));
  openOf.set(pool, open);
  return pool;
}

/** @returns loses the connections that these pools have now, whenever it is called */
export function losesOpen(pools: readonly Pool[]): () => void {
  const open = pools.flatMap((pool) => [...(openOf.get(pool) ?? [])]);
  return () => {
    for (const connection of open) connection.lose();
  };
}

/**
 * Statements are short. A list of thousands of ids makes PostgreSQL expect more cost than it has: it would compile the statement or start
 * processes for it, which takes longer than to run it.
 */
const SHORT = 'set jit = off; set max_parallel_workers_per_gather = 0';
/** How octets come back, and that a list may have nulls, whatever the database or the role has been given. */
const READABLE = 'set bytea_output = hex; set array_nulls = on';

async function configure(client: { query(text: string): Promise<unknown> }): Promise<void> {
  await client.query(`${SHORT}; ${READABLE}`);
}

/** Connections on which a statement got no answer. */
const unanswered = new WeakSet<ClientBase>();

/**
 * Gives a connection back, unless it got no answer: `pg` takes that for a connection like others, and the pool would give it out again
 * first. Where a network dropped what was under way, as at many a failover, none of a pool's connections would work again.
 */
function release(client: PoolClient): void {
  client.release(unanswered.has(client));
}

/** A reader: each statement on some connection of the pool. */
export function poolReader(pool: Pool): Db {
  return {
    engine: 'postgres',
    async execute(sql, values) {
      const client = await pool.connect();
      try {
        return await execute(client, sql, values);
      } finally {
        release(client);
      }
    },
  };
}

const rowId = uuidsOfTimes();

interface UnitOptions {
  /** Milliseconds that the client waits for the answer to a statement of the unit. */
  readonly timeout?: number;
}

/** Runs a unit in a transaction of its own. Rejects with the first error: a lost connection fails the rollback too. */
export async function inTransaction<T>(
  pool: Pool,
  work: (tx: Tx) => Promise<T>,
  { timeout = QUERY_TIMEOUT }: UnitOptions = {},
): Promise<T> {
  const client = await pool.connect();
  let ended = false;
  const last: string[] = [];
  const tx: Tx = {
    engine: 'postgres',
    isUnit: true,
    rowId,
    async execute(sql, values) {
      if (ended) throw new Error('the unit of work is over');
      return execute(client, sql, values, timeout);
    },
    async insertLast({ one }, values) {
      if (ended) throw new Error('the unit of work is over');
      last.push(literally(one, values));
    },
  };
  try {
    await execute(client, 'start transaction isolation level read committed', []);
    const value = await work(tx);
    ended = true;
    // One message: when a statement before it fails, the server does not reach the commit.
    await execute(client, [...last, 'commit'].join('; '), [], timeout);
    return value;
  } catch (error) {
    ended = true;
    // A server that gave no answer would give none to this either. The end of the connection rolls back.
    if (!unanswered.has(client)) await execute(client, 'rollback', []).catch(() => {});
    throw error;
  } finally {
    release(client);
  }
}

/** The statement with its values in it: a message of several statements has no parameters. */
function literally(sql: string, values: readonly LastValue[]): string {
  return sql.replaceAll(/\$(\d+)/g, (_, number: string) => literal(values[Number(number) - 1] ?? null));
}

function literal(value: LastValue): string {
  if (value === null) return 'null';
  if (typeof value === 'string') return escapeLiteral(value);
  if (!Number.isSafeInteger(value)) throw new RangeError('a number that is no whole number');
  return String(value);
}

/** PostgreSQL keeps the statements that have names. */
async function execute<R>(
  client: PoolClient,
  text: string,
  values: readonly unknown[],
  timeout = QUERY_TIMEOUT,
): Promise<Result<R>> {
  const name = statementName(text);
  try {
    const query = {
      text,
      values: [...values],
      query_timeout: timeout,
      ...(name !== undefined && { name }),
    };
    const { rows, rowCount } = await client.query<R & QueryResultRow>(query);
    return { rows, count: rowCount ?? 0 };
  } catch (error) {
    if (!(error instanceof DatabaseError)) unanswered.add(client);
    throw withoutValues(error);
  }
}

/** `detail` and `where` quote the values of the row that failed. */
function withoutValues(error: unknown): unknown {
  if (error instanceof Error) {
    for (const field of ['detail', 'where', 'internalQuery']) Reflect.deleteProperty(error, field);
  }
  return error;
}
