import { statement } from '../engine/statement.ts';
import { markWork } from '../engine/unit-marks.ts';
import type { CustomersTable, MemberRole, MembershipsTable } from '../schema.ts';
import type { Db, Tx } from '../store.ts';
import { firstOwner } from './users.ts';

/** An organization as one of its members sees it. */
export interface OrganizationRow {
  readonly id: string;
  readonly name: string;
  readonly tier: CustomersTable['tier'];
  /** Of the member. */
  readonly role: MemberRole;
  readonly members_count: number;
  readonly created_at: number;
}

export interface MemberRow {
  readonly user_id: string;
  readonly email: string;
  readonly role: MemberRole;
  readonly created_at: number;
}

type NewOrganization = Pick<CustomersTable, 'id' | 'tier' | 'created_at'> & { readonly name: string };

/** Makes an organization with its first owner. */
export async function insertOrganization(tx: Tx, customer: NewOrganization, ownerId: string): Promise<void> {
  await tx
    .insertInto('customers')
    .values({ ...customer, records_count: 0 })
    .execute();
  await insertMember(tx, {
    customer_id: customer.id,
    user_id: ownerId,
    role: 'owner',
    created_at: customer.created_at,
  });
}

/** @returns false when the user is a member already */
export async function insertMember(tx: Tx, member: MembershipsTable): Promise<boolean> {
  const row = await tx
    .insertInto('memberships')
    .values(member)
    .onConflict((conflict) => conflict.columns(['customer_id', 'user_id']).doNothing())
    .returning('user_id')
    .executeTakeFirst();
  return row !== undefined;
}

const COLUMNS = `customers.id, customers.name, customers.tier, memberships.role, customers.created_at,
  (select count(*) from memberships as members where members.customer_id = customers.id) as members_count
  from memberships join customers on customers.id = memberships.customer_id
  where memberships.user_id = :userId and customers.name is not null and customers.closing = 0`;

const FIND = statement<{ id: string; userId: string }, OrganizationRow>(
  `select ${COLUMNS} and customers.id = :id`,
);

const LIST = statement<{ userId: string }, OrganizationRow>(
  `select ${COLUMNS} order by customers.created_at, customers.id`,
);

/** @returns null when there is no such organization, or the user is not a member */
export async function findOrganization(db: Db, id: string, userId: string): Promise<OrganizationRow | null> {
  const { rows } = await FIND(db, { id, userId });
  return rows[0] ?? null;
}

/** Those that the user belongs to, oldest first. */
export async function listOrganizations(db: Db, userId: string): Promise<readonly OrganizationRow[]> {
  const { rows } = await LIST(db, { userId });
  return rows;
}

/** Every organization, or the one with the id, oldest first. */
export async function allOrganizations(db: Db, id?: string) {
  const rows = await db
    .selectFrom('customers')
    .select(['id', 'name', 'tier', 'records_count', 'created_at'])
    .select((customer) => [
      customer
        .selectFrom('memberships')
        .select((member) => member.fn.countAll<number>().as('count'))
        .whereRef('memberships.customer_id', '=', 'customers.id')
        .$asScalar()
        .$notNull()
        .as('members_count'),
      firstOwner(customer.ref('customers.id')).as('owner'),
    ])
    .where('name', 'is not', null)
    .where('closing', '=', 0)
    .$if(id !== undefined, (query) => query.where('id', '=', id ?? ''))
    .orderBy('created_at')
    .orderBy('id')
    .$narrowType<{ name: string }>()
    .execute();
  return rows;
}

export async function renameOrganization(tx: Tx, id: string, name: string): Promise<void> {
  await tx.updateTable('customers').set({ name }).where('id', '=', id).execute();
}

export async function findUserEmail(db: Db, userId: string): Promise<string | null> {
  const row = await db.selectFrom('users').select('email').where('id', '=', userId).executeTakeFirst();
  return row?.email ?? null;
}

/** Longest membership first. */
export function listMembers(db: Db, customerId: string): Promise<MemberRow[]> {
  return db
    .selectFrom('memberships')
    .innerJoin('users', 'users.id', 'memberships.user_id')
    .select(['users.id as user_id', 'users.email', 'memberships.role', 'memberships.created_at'])
    .where('memberships.customer_id', '=', customerId)
    .orderBy('memberships.created_at')
    .orderBy('users.id')
    .execute();
}

/** @returns null when the user is not a member */
export async function findMember(db: Db, customerId: string, userId: string): Promise<MemberRow | null> {
  const row = await db
    .selectFrom('memberships')
    .innerJoin('users', 'users.id', 'memberships.user_id')
    .select(['users.id as user_id', 'users.email', 'memberships.role', 'memberships.created_at'])
    .where('memberships.customer_id', '=', customerId)
    .where('users.id', '=', userId)
    .executeTakeFirst();
  return row ?? null;
}

/** Owners beside the user. The caller holds the customer's row, so that two owners cannot both leave. */
export async function countOtherOwners(tx: Tx, customerId: string, userId: string): Promise<number> {
  const { count } = await tx
    .selectFrom('memberships')
    .select((member) => member.fn.countAll<number>().as('count'))
    .where('customer_id', '=', customerId)
    .where('user_id', '!=', userId)
    .where('role', '=', 'owner')
    .executeTakeFirstOrThrow();
  return count;
}

export async function setMemberRole(
  tx: Tx,
  customerId: string,
  userId: string,
  role: MemberRole,
): Promise<void> {
  await tx
    .updateTable('memberships')
    .set({ role })
    .where('customer_id', '=', customerId)
    .where('user_id', '=', userId)
    .execute();
}

/** Removes a member, and ends the sessions in which the user acts for the organization. */
export async function deleteMember(tx: Tx, customerId: string, userId: string, now: number): Promise<void> {
  await tx
    .deleteFrom('memberships')
    .where('customer_id', '=', customerId)
    .where('user_id', '=', userId)
    .execute();
  await tx
    .updateTable('sessions')
    .set({ revoked_at: now })
    .where('customer_id', '=', customerId)
    .where('user_id', '=', userId)
    .where('revoked_at', 'is', null)
    .execute();
  markWork(tx, 'credentials');
}

/** Makes a session act for a customer. The caller holds that customer's row. @returns false when the session has ended */
export async function setSessionCustomer(
  tx: Tx,
  sessionId: string,
  customerId: string,
  now: number,
): Promise<boolean> {
  const row = await tx
    .updateTable('sessions')
    .set({ customer_id: customerId })
    .where('id', '=', sessionId)
    .where('revoked_at', 'is', null)
    .where('expires_at', '>', now)
    .returning('id')
    .executeTakeFirst();
  return row !== undefined;
}

/** The organizations of a user, in the order in which units lock them. */
export function membershipsOf(
  tx: Tx,
  userId: string,
): Promise<Pick<MembershipsTable, 'customer_id' | 'role'>[]> {
  return tx
    .selectFrom('memberships')
    .innerJoin('customers', 'customers.id', 'memberships.customer_id')
    .select(['memberships.customer_id', 'memberships.role'])
    .where('memberships.user_id', '=', userId)
    .where('customers.name', 'is not', null)
    .orderBy('memberships.customer_id')
    .execute();
}
