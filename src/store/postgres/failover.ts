/** Whether the database went on elsewhere, where it may lack the last commits: on a promoted standby, or as a restored copy. */
import { nextEpoch } from '../../base/ids.ts';
import type { Clock } from '../../base/time.ts';
import { withNewEpoch } from '../service-facts.ts';
import { PATIENT_TIMEOUT } from './driver.ts';

interface Connection {
  query<R>(
    statement: string | Patient,
    values?: readonly unknown[],
  ): Promise<{ readonly rows: readonly R[] }>;
}

/** A statement that may take any time. */
interface Patient {
  readonly text: string;
  readonly values?: unknown[];
  /** Milliseconds. */
  readonly query_timeout: number;
}

interface Found {
  readonly standby: boolean;
  /** System identifier, timeline and database; null on a standby. */
  readonly server: string | null;
}

/**
 * A timeline is the first eight digits of the name of a WAL file. The control file, which has it too, is behind for some time after
 * a promotion.
 */
const SERVER = `select pg_is_in_recovery() as standby, case when pg_is_in_recovery() then null else concat_ws(':',
    (select system_identifier from pg_control_system()),
    left(pg_walfile_name(pg_current_wal_lsn()), 8),
    (select oid from pg_database where datname = current_database())) end as server`;

const KNOWN = `select (select value from service_facts where name = 'server') as server,
    (select value from service_facts where name = 'epoch') as epoch`;

const FIRST = "insert into service_facts (name, value) values ('server', $1) on conflict do nothing";

/** Of processes that connect together one finds the row as it was. An epoch that an operator gave meanwhile stays. */
const MOVE = `with moved as (
    update service_facts set value = $1 where name = 'server' and value = $2 returning name)
  update service_facts set value = $3 where name = 'epoch' and value = $4 and exists (select 1 from moved) returning name`;

/**
 * SQLSTATE of functions that a PostgreSQL of another make does not have, or not for this user: then nothing is compared. Amazon Aurora
 * answers 55000 (object_not_in_prerequisite_state) as long as its wal_level is not `logical`.
 */
const UNKNOWN: ReadonlySet<unknown> = new Set(['0A000', '42501', '42883', '55000']);
/** undefined_table: of a database that has not been migrated. */
const NO_TABLE = '42P01';
/** cannot_connect_now: a start waits for such a server. */
const STANDBY = '57P03';

function codeOf(error: unknown): unknown {
  return (error as { readonly code?: unknown }).code;
}

/**
 * Run on each new connection, before its first statement. A session of a primary ends before its server has another timeline, so no
 * statement of ours reaches a log that was set back under the epoch from before.
 *
 * The first connection to another server, timeline or database gives the log a later epoch: every view is built again, as after a restore.
 * @throws Error of code 57P03 on a standby: its session would go on after a promotion
 */
export async function noticeMove(client: Connection, clock: Clock): Promise<void> {
  const server = await serverOf(client);
  if (server === null) return;
  const known = await client
    .query<{ readonly server: string | null; readonly epoch: string | null }>(KNOWN)
    .catch((error: unknown) => {
      if (codeOf(error) === NO_TABLE) return { rows: [] };
      throw error;
    });
  const [facts] = known.rows;
  if (facts === undefined || facts.server === server) return;
  if (facts.server === null) await client.query(FIRST, [server]);
  else if (facts.epoch !== null) {
    const next = nextEpoch(facts.epoch, clock());
    await move(client, [server, facts.server, next, facts.epoch], next);
  }
}

async function serverOf(client: Connection): Promise<string | null> {
  try {
    const [found] = (await client.query<Found>(SERVER)).rows;
    if (found?.standby !== false) throw new StandbyError();
    return found.server;
  } catch (error) {
    if (UNKNOWN.has(codeOf(error))) return null;
    throw error;
  }
}

/** @param values of `MOVE` */
async function move(client: Connection, values: readonly string[], epoch: string): Promise<void> {
  // Whatever the role's default is: under a stricter one all processes but one would fail.
  await client.query('begin isolation level read committed');
  try {
    // A counter for each customer that has webhooks: control must not fail to start because there are many.
    await client.query('set local statement_timeout = 0');
    const { rows } = await client.query({ text: MOVE, values: [...values], query_timeout: PATIENT_TIMEOUT });
    if (rows.length > 0) {
      for (const text of withNewEpoch(epoch)) await client.query({ text, query_timeout: PATIENT_TIMEOUT });
    }
    await client.query('commit');
  } catch (error) {
    await client.query('rollback').catch(() => {});
    throw error;
  }
}

class StandbyError extends Error {
  readonly code = STANDBY;

  constructor() {
    super('the PostgreSQL server is a standby and takes no writes');
  }
}
