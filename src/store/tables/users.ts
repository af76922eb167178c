import { type Expression, type Insertable, type RawBuilder, sql } from 'kysely';
import type { Tier } from '../../base/tiers.ts';
import type { UsersTable } from '../schema.ts';
import type { Db, Tx } from '../store.ts';

/** A user with the tier and the record count of a customer. */
export interface UserRow extends UsersTable {
  readonly tier: Tier;
  readonly records_count: number;
}

/** A user with what the customer owns, counted. */
export interface UserWithCounts extends UserRow {
  /** Of the organization; null: the user's own customer. */
  readonly customer_name: string | null;
  readonly namespaces_count: number;
  readonly api_keys_count: number;
}

/**
 * Makes a user with their own customer.
 * @returns false when the address is taken
 */
export async function insertUser(tx: Tx, user: Insertable<UsersTable>, tier: Tier): Promise<boolean> {
  const { id, created_at } = user;
  const row = await tx
    .insertInto('users')
    .values(user)
    .onConflict((conflict) => conflict.column('email').doNothing())
    .returning('id')
    .executeTakeFirst();
  if (row === undefined) return false;
  await tx.insertInto('customers').values({ id, name: null, tier, records_count: 0, created_at }).execute();
  await tx
    .insertInto('memberships')
    .values({ customer_id: id, user_id: id, role: 'owner', created_at })
    .execute();
  return true;
}

/** With sessions, passkeys, memberships and invitations. Their own customer stays. */
export async function deleteUser(tx: Tx, id: string): Promise<void> {
  await tx.deleteFrom('users').where('id', '=', id).execute();
}

/** A user with the tier of their own customer. */
export async function findUserByEmail(db: Db, email: string): Promise<UserRow | null> {
  const row = await db
    .selectFrom('users')
    .innerJoin('customers', 'customers.id', 'users.id')
    .selectAll('users')
    .select(['customers.tier', 'customers.records_count'])
    .where('users.email', '=', email)
    .executeTakeFirst();
  return row ?? null;
}

/** Mail addresses by user id. Users that are gone are missing. */
export async function mailsOfUsers(db: Db, ids: readonly string[]): Promise<Map<string, string>> {
  if (ids.length === 0) return new Map();
  const rows = await db.selectFrom('users').select(['id', 'email']).where('id', 'in', ids).execute();
  return new Map(rows.map(({ id, email }) => [id, email]));
}

/** The user, with what the customer that they act for owns. */
export async function findUserWithCounts(
  db: Db,
  id: string,
  customerId: string,
): Promise<UserWithCounts | null> {
  const row = await withCounts(db)
    .where('users.id', '=', id)
    .where('customers.id', '=', customerId)
    .executeTakeFirst();
  return row ?? null;
}

/** Every user with what their own customer owns, oldest first. */
export function listUsersWithCounts(db: Db): Promise<UserWithCounts[]> {
  return withCounts(db)
    .whereRef('customers.id', '=', 'users.id')
    .orderBy('users.created_at')
    .orderBy('users.id')
    .execute();
}

/** Pairs of every user with every customer: the caller says which. */
function withCounts(db: Db) {
  return db
    .selectFrom('users')
    .innerJoin('customers', (join) => join.onTrue())
    .selectAll('users')
    .select(['customers.tier', 'customers.records_count', 'customers.name as customer_name'])
    .select((user) => [
      user
        .selectFrom('namespaces')
        .select((it) => it.fn.countAll<number>().as('count'))
        .whereRef('namespaces.customer_id', '=', 'customers.id')
        .where('namespaces.closing', '=', 0)
        .$asScalar()
        .$notNull()
        .as('namespaces_count'),
      user
        .selectFrom('api_keys')
        .select((it) => it.fn.countAll<number>().as('count'))
        .whereRef('api_keys.customer_id', '=', 'customers.id')
        .$asScalar()
        .$notNull()
        .as('api_keys_count'),
    ]);
}

/** The mail address of the owner who has belonged to a customer for longest. Empty for a customer that is being deleted. */
export function firstOwner(customerId: Expression<string>): RawBuilder<string> {
  return sql<string>`coalesce((select users.email from memberships join users on users.id = memberships.user_id
    where memberships.customer_id = ${customerId} and memberships.role = 'owner'
    order by memberships.created_at, users.id limit 1), '')`;
}
