import { type Insertable, sql } from 'kysely';
import type { Tier } from '../../../core/tiers.ts';
import type { UsersTable } from '../schema.ts';
import type { Db, Tx } from '../store.ts';

export type UserRow = UsersTable;

/** A customer with what they own, counted. */
export interface UserWithCounts extends UserRow {
  readonly namespaces_count: number;
  readonly api_keys_count: number;
}

/** @returns false when the address is taken */
export async function insertUser(tx: Tx, user: Insertable<UsersTable>): Promise<boolean> {
  const row = await tx
    .insertInto('users')
    .values(user)
    .onConflict((conflict) => conflict.column('email').doNothing())
    .returning('id')
    .executeTakeFirst();
  return row !== undefined;
}

export async function findUserByEmail(db: Db, email: string): Promise<UserRow | null> {
  const row = await db.selectFrom('users').selectAll().where('email', '=', email).executeTakeFirst();
  return row ?? null;
}

export async function findUserWithCounts(db: Db, id: string): Promise<UserWithCounts | null> {
  const row = await withCounts(db).where('users.id', '=', id).executeTakeFirst();
  return row ?? null;
}

/** Every customer, oldest first. */
export function listUsersWithCounts(db: Db): Promise<UserWithCounts[]> {
  return withCounts(db).orderBy('users.created_at').orderBy('users.id').execute();
}

function withCounts(db: Db) {
  return db
    .selectFrom('users')
    .selectAll('users')
    .select((user) => [
      user
        .selectFrom('namespaces')
        .select((it) => it.fn.countAll<number>().as('count'))
        .whereRef('namespaces.user_id', '=', 'users.id')
        .where('namespaces.closing', '=', 0)
        .$asScalar()
        .$notNull()
        .as('namespaces_count'),
      user
        .selectFrom('api_keys')
        .select((it) => it.fn.countAll<number>().as('count'))
        .whereRef('api_keys.user_id', '=', 'users.id')
        .$asScalar()
        .$notNull()
        .as('api_keys_count'),
    ]);
}

/** @returns the user after the change, or null when there is none */
export async function updateTier(tx: Tx, email: string, tier: Tier): Promise<UserRow | null> {
  const row = await tx
    .updateTable('users')
    .set({ tier })
    .where('email', '=', email)
    .returningAll()
    .executeTakeFirst();
  return row ?? null;
}

/**
 * Adds to a customer's record count and holds the customer's row until the unit ends, so that units of one customer that
 * count come one after the other.
 * @param cap the count must not pass it when records are added; a count already above it may still fall
 * @returns false, with nothing changed, when it would
 */
export async function addToRecordsCount(tx: Tx, id: string, delta: number, cap: number): Promise<boolean> {
  let update = tx
    .updateTable('users')
    .set({ records_count: sql<number>`records_count + ${delta}` })
    .where('id', '=', id);
  if (delta > 0) update = update.where('records_count', '<=', cap - delta);
  return (await update.returning('id').executeTakeFirst()) !== undefined;
}

/**
 * Holds the customer's row until the unit ends: what the customer owns can then be counted without a race.
 *
 * A unit that has inserted a row of the customer's holds the row for its foreign key. Two such units would wait for each
 * other with `for update`; `for no key update` lets foreign keys pass.
 */
export async function lockUser(tx: Tx, id: string): Promise<void> {
  await tx.selectFrom('users').select('id').where('id', '=', id).forNoKeyUpdate().execute();
}
