import type { Tier } from '../../base/tiers.ts';
import { insertText, listStatement, statement } from '../engine/statement.ts';
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

const INSERT = statement<UsersTable>(
  insertText('users', 'id, email, role, created_at', 'on conflict (email) do nothing'),
);
const INSERT_CUSTOMER = statement<{ id: string; tier: Tier; created_at: number }>(
  'insert into customers (id, name, tier, records_count, created_at) values (:id, null, :tier, 0, :created_at)',
);
const INSERT_OWNER = statement<{ id: string; created_at: number }>(
  "insert into memberships (customer_id, user_id, role, created_at) values (:id, :id, 'owner', :created_at)",
);

/**
 * Makes a user with their own customer.
 * @returns false when the address is taken
 */
export async function insertUser(tx: Tx, user: UsersTable, tier: Tier): Promise<boolean> {
  if ((await INSERT.run(tx, user)) === 0) return false;
  await INSERT_CUSTOMER.run(tx, { ...user, tier });
  await INSERT_OWNER.run(tx, user);
  return true;
}

const DELETE = statement<{ id: string }>('delete from users where id = :id');

/** With sessions, passkeys, memberships and invitations. Their own customer stays. */
export async function deleteUser(tx: Tx, id: string): Promise<void> {
  await DELETE.run(tx, { id });
}

const COLUMNS =
  'users.id, users.email, users.role, users.created_at, customers.tier, customers.records_count';

const FIND = statement<{ email: string }, UserRow>(
  `select ${COLUMNS} from users join customers on customers.id = users.id where users.email = :email`,
);

/** A user with the tier of their own customer. */
export function findUserByEmail(db: Db, email: string): Promise<UserRow | null> {
  return FIND.first(db, { email });
}

const MAILS = listStatement<{ ids: readonly string[] }, Pick<UsersTable, 'id' | 'email'>>(
  'select id, email from users where id in (:ids)',
  'text',
);

/** Mail addresses by user id. Users that are gone are missing. */
export async function mailsOfUsers(db: Db, ids: readonly string[]): Promise<Map<string, string>> {
  if (ids.length === 0) return new Map();
  const rows = await MAILS.all(db, { ids });
  return new Map(rows.map(({ id, email }) => [id, email]));
}

const WITH_COUNTS = `select ${COLUMNS}, customers.name as customer_name,
    (select count(*) from namespaces where customer_id = customers.id and closing = 0) as namespaces_count,
    (select count(*) from api_keys where customer_id = customers.id) as api_keys_count
  from users join customers`;

const FIND_WITH_COUNTS = statement<{ id: string; customerId: string }, UserWithCounts>(
  `${WITH_COUNTS} on customers.id = :customerId where users.id = :id`,
);

/** The user, with what the customer that they act for owns. */
export function findUserWithCounts(db: Db, id: string, customerId: string): Promise<UserWithCounts | null> {
  return FIND_WITH_COUNTS.first(db, { id, customerId });
}

const LIST_WITH_COUNTS = statement<object, UserWithCounts>(
  `${WITH_COUNTS} on customers.id = users.id order by users.created_at, users.id`,
);

/** Every user with what their own customer owns, oldest first. */
export function listUsersWithCounts(db: Db): Promise<UserWithCounts[]> {
  return LIST_WITH_COUNTS.all(db, {});
}

/**
 * SQL of the mail address of the owner who has belonged to a customer for longest. Empty for a customer that is being deleted.
 * @param customer SQL of the customer's id
 */
export function firstOwner(customer: string): string {
  return `coalesce((select users.email from memberships join users on users.id = memberships.user_id
    where memberships.customer_id = ${customer} and memberships.role = 'owner'
    order by memberships.created_at, users.id limit 1), '')`;
}
