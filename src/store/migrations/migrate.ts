import { type Clock, formatTime } from '../../base/time.ts';
import type { Db, Tx } from '../store.ts';
import { BEHIND, CHANGES, HOURS, MAKERS, PLAIN_TEXT, recordOrder, TOLD, transparency } from './changes.ts';
import { FIRST_TABLES, WEBHOOKS } from './first-release.ts';
import { secondRelease } from './second-release.ts';

/** What may be done to the tables of a database: nothing; to make them where there are none; to bring those of an earlier release up to date too. */
export type TablesUse = 'look' | 'make' | 'upgrade';

/** In order, forward only. A name that was released is never changed or removed. */
const STEPS: Readonly<Record<string, (engine: Db['engine']) => string>> = {
  '0001-first-tables': () => FIRST_TABLES,
  '0002-webhooks': () => WEBHOOKS,
  '0003-second-release': secondRelease,
  '0004-changes': () => CHANGES,
  '0005-plain-text': () => PLAIN_TEXT,
  '0006-told': () => TOLD,
  '0007-record-order': recordOrder,
  '0008-hours': () => HOURS,
  '0009-transparency': transparency,
  '0010-makers': () => MAKERS,
  '0011-behind': () => BEHIND,
};

/** The last step: what a process that does not migrate waits for. */
export const LATEST_MIGRATION = Object.keys(STEPS).at(-1) ?? '';

/** The steps that a database has had. Release 0.1.0 named the table after the library that made it. */
const MAKE_LIST = `create table if not exists kysely_migration (
  name varchar(255) not null primary key, timestamp varchar(255) not null)`;
const NAMES = 'select name from kysely_migration order by name';
const DROP_LOCK = 'drop table if exists kysely_migration_lock';

/**
 * Brings the tables up to date. The caller's transaction must keep other processes out, and commits all steps or none. On SQLite
 * foreign keys must be off; they are checked here, after the steps.
 * @throws OtherSchemaError when a later release migrated the database, or it must be upgraded and may not be; the error of a step that fails
 */
export async function migrate(tx: Tx, clock: Clock, use: TablesUse = 'upgrade'): Promise<void> {
  if (use === 'look') return;
  await tx.execute(MAKE_LIST, []);
  const done = await namesIn(tx);
  const unknown = done.findLast((name) => !(name in STEPS));
  if (unknown !== undefined) throw new OtherSchemaError(laterSchemaText(unknown));
  const steps = Object.entries(STEPS).filter(([name]) => !done.includes(name));
  const last = done.at(-1);
  if (use === 'make' && last !== undefined && steps.length > 0)
    throw new OtherSchemaError(earlierSchemaText(last));
  for (const [name, step] of steps) {
    for (const sql of statementsOf(step(tx.engine), tx.engine)) await tx.execute(sql, []);
    await tx.execute(`insert into kysely_migration values ('${name}', '${formatTime(clock())}')`, []);
  }
  if (steps.length === 0) return;
  await tx.execute(DROP_LOCK, []);
  if (tx.engine === 'sqlite') await checkForeignKeys(tx);
}

/** Name of the newest migration of a database. Rejects in a database without tables. */
export async function schemaOf(db: Db): Promise<string> {
  return (await namesIn(db)).at(-1) ?? 'none';
}

/** The statements of a step, which is written as SQLite spells it. */
export function statementsOf(step: string, engine: Db['engine']): string[] {
  const text = engine === 'sqlite' ? step : inPostgres(step);
  return text.split(/;\s*\n/).filter((sql) => sql.trim() !== '');
}

/** 64-bit integers and octets. SQLite checks types only where told to (sqlite.org/stricttables.html). */
function inPostgres(step: string): string {
  return step
    .replaceAll(/\binteger\b/g, 'bigint')
    .replaceAll(/\bblob\b/g, 'bytea')
    .replaceAll(/^\) strict(, without rowid)?/gm, ')')
    .replaceAll(') strict;', ');');
}

/** What a person does about a database of a later release. Nothing in it is damaged. */
export function laterSchemaText(schema: string, latest = LATEST_MIGRATION): string {
  return (
    `schema ${schema} is newer than this program, which knows ${latest}. Install the later release again, ` +
    'or restore the backup from before the upgrade (docs/operations/restore.md).'
  );
}

/** What a person does about a database that was not upgraded yet. */
export function earlierSchemaText(schema: string, latest = LATEST_MIGRATION): string {
  return `schema ${schema}, this program needs ${latest}. Start a server of this release with the role all or control.`;
}

/** The database is of another release; this one must not write to it. */
class OtherSchemaError extends Error {
  constructor(message: string) {
    super(message);
    this.name = 'OtherSchemaError';
  }
}

async function namesIn(db: Db): Promise<string[]> {
  const { rows } = await db.execute<{ name: string }>(NAMES, []);
  return rows.map(({ name }) => name);
}

async function checkForeignKeys(tx: Tx): Promise<void> {
  const { rows } = await tx.execute('pragma foreign_key_check', []);
  if (rows.length > 0) throw new Error(`migration: ${rows.length} rows reference rows that do not exist`);
}
