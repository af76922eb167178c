import type { ClientBase, Pool } from 'pg';
import { randomFraction, realRandom } from '../../base/chance.ts';
import { backoffMs } from '../../base/lifecycle/loop.ts';
import { pause, realTimers } from '../../base/lifecycle/timers.ts';
import type { Clock } from '../../base/time.ts';
import { vacuumKeys } from '../destroyed-keys.ts';
import { isTransient } from '../engine/engine-errors.ts';
import { type Marks, marksOf, StoreSignals } from '../engine/signals.ts';
import { changeSource } from '../log/change-reader.ts';
import { migrate, type TablesUse } from '../migrations/migrate.ts';
import type { Store, Tx } from '../store.ts';
import { inTransaction, losesOpen, newPool, PATIENT_TIMEOUT, poolReader } from './driver.ts';
import { noticeMove } from './failover.ts';
import { Notifier, watchNotices } from './notices.ts';
import { createPostgresPing } from './ping.ts';

/** Connections of a process. Writers queue for the log's one row in any case. */
const WRITE_POOL = 10;
const READ_POOL = 10;

/** How often a unit is run again after a deadlock or serialization failure. */
const ATTEMPTS = 6;
/** The longest delay before the second attempt, and before any later one. */
const RETRY = { firstMs: 20, capMs: 200 };

/** Key of the advisory lock around migrations: a 64-bit number that no other program may use in this database. */
const MIGRATION_LOCK = 7_352_114_901_223;

/** Opens the store on a PostgreSQL database. Rejects when its tables are to be made and the server cannot be reached. */
export async function openPostgresStore(
  url: string,
  clock: Clock,
  tables: TablesUse = 'upgrade',
): Promise<Store> {
  const prepare = (client: ClientBase): Promise<void> => noticeMove(client, clock);
  const writePool = newPool(url, WRITE_POOL, { prepare });
  const readPool = newPool(url, READ_POOL, { prepare });
  const read = poolReader(readPool);
  try {
    if (tables !== 'look') {
      await migrateLocked(writePool, (tx) => migrate(tx, clock, tables));
      // Its connection was made before there were tables.
      await onConnection(writePool, prepare);
    }
  } catch (error) {
    await Promise.allSettled([writePool.end(), readPool.end()]);
    throw error;
  }
  const pinger = createPostgresPing(url, () => losesOpen([writePool, readPool]));
  const notifier = new Notifier(writePool);
  const signals = new StoreSignals(() => watchNotices(url, notifier.origin, (marks) => signals.tell(marks)));
  const pending = new Set<Promise<unknown>>();
  let closed = false;
  const store: Store = {
    engine: 'postgres',
    read,
    write: (work) => {
      if (closed) return Promise.reject(new Error('the store is closed'));
      const unit = runUnit(writePool, work).then(({ value, marks }) => {
        notifier.tell(marks);
        signals.tell(marks);
        return value;
      });
      const settled = unit.catch(() => {}).finally(() => pending.delete(settled));
      pending.add(settled);
      return unit;
    },
    changes: changeSource(read, signals, clock),
    onWork: (topic, listener) => signals.onWork(topic, listener),
    onCommit: (listener) => signals.onCommit(listener),
    async scrub() {
      await vacuumKeys(store, (sql) => outsideUnits(writePool, sql));
      return true;
    },
    ping: () => pinger.ping(),
    close: async () => {
      if (closed) return;
      closed = true;
      signals.stop();
      await Promise.all(pending);
      await notifier.idle();
      await pinger.close();
      await Promise.all([writePool.end(), readPool.end()]);
    },
  };
  return store;
}

/** Milliseconds that a statement of upkeep waits for a lock. It holds up those that come after it, and is tried again. */
const LOCK_WAIT = 2_000;

/** For statements that no transaction may have. Rejects when it would wait for long. */
function outsideUnits(pool: Pool, sql: string): Promise<void> {
  return onConnection(pool, async (client) => {
    await client.query(`set lock_timeout = ${LOCK_WAIT}`);
    await client.query(sql);
    await client.query('reset lock_timeout');
  });
}

async function onConnection(pool: Pool, work: (client: ClientBase) => Promise<void>): Promise<void> {
  const client = await pool.connect();
  let isLost = true;
  try {
    await work(client);
    isLost = false;
  } finally {
    client.release(isLost);
  }
}

/**
 * One process migrates at a time. Migrations, and the wait for those of another process, may take longer than any statement of the service does.
 * A server of an earlier release that writes meanwhile may be met in a deadlock.
 */
async function migrateLocked(pool: Pool, migrateIn: (tx: Tx) => Promise<void>): Promise<void> {
  await repeated(() =>
    inTransaction(
      pool,
      async (tx) => {
        await tx.execute('set local statement_timeout = 0', []);
        await tx.execute('select pg_advisory_xact_lock($1)', [MIGRATION_LOCK]);
        await requireUnicode(tx);
        await migrateIn(tx);
      },
      { timeout: PATIENT_TIMEOUT },
    ),
  );
}

/** SQL_ASCII keeps the octets that it is given. Another encoding has no place for most names, and each write of one would fail. */
const UNICODE = ['UTF8', 'SQL_ASCII'];

/** @throws Error with the code of PostgreSQL for a character that an encoding does not have */
async function requireUnicode(tx: Tx): Promise<void> {
  const { rows } = await tx.execute<{ encoding: string }>(
    "select current_setting('server_encoding') as encoding",
    [],
  );
  const encoding = rows[0]?.encoding ?? '';
  if (UNICODE.includes(encoding)) return;
  const advice = "make one with: create database uqrp encoding 'UTF8' template template0";
  throw Object.assign(new Error(`the database has the encoding ${encoding}, and needs UTF8; ${advice}`), {
    code: '22P05',
  });
}

interface Ran<T> {
  readonly value: T;
  readonly marks: Marks;
}

/**
 * Runs a unit in a transaction, and again after deadlocks. When the connection is lost during the commit, the promise
 * rejects although the unit may be committed: the caller must read to find out.
 */
function runUnit<T>(pool: Pool, work: (tx: Tx) => Promise<T>): Promise<Ran<T>> {
  return repeated(() =>
    inTransaction(pool, async (tx) => {
      const value = await work(tx);
      return { value, marks: marksOf(tx) };
    }),
  );
}

/** Runs a transaction up to `ATTEMPTS` times, after deadlocks. */
async function repeated<T>(transaction: () => Promise<T>): Promise<T> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await transaction();
    } catch (error) {
      if (attempt >= ATTEMPTS || !isTransient(error)) throw error;
    }
    // Random, so that two units that met in a deadlock do not meet again.
    await pause(realTimers, randomFraction(realRandom) * backoffMs(attempt, RETRY));
  }
}
