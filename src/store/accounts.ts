import type { Tier } from '../base/limits.ts';
import { markWork } from './engine/signals.ts';
import { insertText, listStatement, statement } from './engine/statement.ts';
import type { Db, Tx } from './store.ts';

/** Who owns namespaces, keys and webhooks. */
export interface CustomersTable {
  id: string;
  /** Of an organization; null: a user's own customer, which has the user's id. */
  name: string | null;
  tier: Tier;
  /** Updated with every write. The record cap is checked against it under the row's lock. */
  records_count: number;
  /** 1: it is being deleted. */
  closing: number;
  created_at: number;
}

/** A person who signs in. */
export interface UsersTable {
  id: string;
  /** Lower case, unique. */
  email: string;
  role: 'user' | 'admin';
  created_at: number;
}

/** `owner`: also manages members and API keys, and may delete the organization. */
export type MemberRole = 'owner' | 'member';

/** The users of a customer. A user's own customer has that user as its owner. */
export interface MembershipsTable {
  customer_id: string;
  user_id: string;
  role: MemberRole;
  created_at: number;
}

/** A sign-in. The id is the JWT's `sid`; the row is looked up on every call, so sign-out is immediate. */
export interface SessionRow {
  id: string;
  user_id: string;
  /** The customer that the session acts for. */
  customer_id: string;
  created_at: number;
  expires_at: number;
  revoked_at: number | null;
  method: SignInMethod;
  /** At most a minute behind. */
  last_used_at: number | null;
}

export type SignInMethod = 'code' | 'passkey' | 'cli';

const SET_TIER = statement<{ id: string; tier: Tier }>('update customers set tier = :tier where id = :id');

/** Moves a customer to another tier. Holds the customer's row until the unit ends. */
export async function updateTier(tx: Tx, id: string, tier: Tier): Promise<void> {
  await SET_TIER.run(tx, { id, tier });
}

const ADD_RECORDS = statement<{ id: string; delta: number; most: number }, Pick<CustomersTable, 'id'>>(
  `update customers set records_count = records_count + :delta
  where id = :id and (:delta <= 0 or (closing = 0 and records_count <= :most)) returning id`,
);

/**
 * Adds to a customer's record count and holds the customer's row until the unit ends, so that units of one customer that
 * count come one after the other.
 * @param cap the count must not pass it when records are added; a count already above it may still fall
 * @returns false, with nothing changed, when it would, or when records are added for a customer that is being deleted, or is gone
 */
export async function addToRecordsCount(tx: Tx, id: string, delta: number, cap: number): Promise<boolean> {
  const rows = await ADD_RECORDS.all(tx, { id, delta, most: cap - delta });
  return rows.length > 0;
}

const LOCK = statement<{ id: string }, { closing: number }>('select closing from customers where id = :id', {
  lock: 'for no key update',
});

/**
 * Holds the customer's row until the unit ends: what the customer owns can then be counted without a race.
 *
 * A unit that has inserted a row of the customer's holds the row for its foreign key. Two such units would wait for each
 * other with `for update`; `for no key update` lets foreign keys pass.
 * @returns false for a customer that is being deleted, or is gone
 */
export async function lockCustomer(tx: Tx, id: string): Promise<boolean> {
  const rows = await LOCK.all(tx, { id });
  return rows[0]?.closing === 0;
}

const LOCK_SEVERAL = listStatement<{ ids: readonly string[] }, { id: string; closing: number }>(
  'select id, closing from customers where id in (:ids) order by id',
  'text',
  { lock: 'for no key update' },
);

/**
 * As `lockCustomer`, of several, in the order of their ids: two units that lock in different orders would wait for each other.
 * @returns the ids of those that are not being deleted
 */
export async function lockCustomers(tx: Tx, ids: readonly string[]): Promise<ReadonlySet<string>> {
  const [id = '', ...more] = new Set(ids);
  if (more.length === 0) return new Set((await lockCustomer(tx, id)) ? [id] : []);
  const rows = await LOCK_SEVERAL.all(tx, { ids: [id, ...more] });
  return new Set(rows.filter(({ closing }) => closing === 0).map((row) => row.id));
}

const SUSPENDED = statement<{ id: string }, { id: string }>(
  'select id from namespaces where customer_id = :id and suspended = 1 limit 1',
);

/** A unit before a deletion asks: the owner of a suspended namespace may not free its name. */
export async function hasSuspendedNamespace(tx: Tx, id: string): Promise<boolean> {
  return (await SUSPENDED.first(tx, { id })) !== null;
}

const DELETE_KEYS = statement<{ id: string }>('delete from api_keys where customer_id = :id');
const CLOSE = statement<{ id: string }>('update customers set closing = 1 where id = :id');

/** Begins the deletion of a customer: no credential counts any more. */
export async function closeCustomer(tx: Tx, id: string): Promise<void> {
  await DELETE_KEYS.run(tx, { id });
  await CLOSE.run(tx, { id });
}

const CLOSING = statement<{ limit: number }, { id: string }>(
  'select id from customers where closing = 1 order by id limit :limit',
);

/** Ids of customers that are closed and not yet deleted. */
export async function closingCustomers(db: Db, limit: number): Promise<string[]> {
  const rows = await CLOSING.all(db, { limit });
  return rows.map(({ id }) => id);
}

const LOCK_CLOSING = statement<{ id: string }, { id: string }>(
  'select id from customers where id = :id and closing = 1',
  { lock: 'for no key update' },
);

/** Holds a closed customer's row until the unit ends. @returns false when it is gone */
export async function lockClosingCustomer(tx: Tx, id: string): Promise<boolean> {
  return (await LOCK_CLOSING.first(tx, { id })) !== null;
}

const DELETE_CUSTOMER = statement<{ id: string }>(
  `delete from customers where id = :id and closing = 1
  and not exists (select 1 from namespaces where customer_id = :id)
  and not exists (select 1 from webhooks where customer_id = :id)`,
);

/** Deletes a closed customer once its namespaces and webhooks are gone, which go in units of their own. */
export async function deleteCustomer(tx: Tx, id: string): Promise<void> {
  await DELETE_CUSTOMER.run(tx, { id });
}

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

const INSERT_USER = statement<UsersTable>(
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
  if ((await INSERT_USER.run(tx, user)) === 0) return false;
  await INSERT_CUSTOMER.run(tx, { ...user, tier });
  await INSERT_OWNER.run(tx, user);
  return true;
}

const DELETE_USER = statement<{ id: string }>('delete from users where id = :id');

/** With sessions, passkeys, memberships and invitations. Their own customer stays. */
export async function deleteUser(tx: Tx, id: string): Promise<void> {
  await DELETE_USER.run(tx, { id });
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

type NewSession = Omit<SessionRow, 'last_used_at'>;

/** The user behind a session that still counts, and the customer that it acts for. */
export interface LiveSession {
  readonly userId: string;
  readonly customerId: string;
  readonly role: MemberRole;
  readonly tier: Tier;
  readonly lastUsedAt: number | null;
}

const INSERT_SESSION = statement<NewSession>(
  insertText('sessions', 'id, user_id, customer_id, created_at, expires_at, revoked_at, method'),
);

export async function insertSession(tx: Tx, session: NewSession): Promise<void> {
  await INSERT_SESSION.run(tx, session);
}

const FIND_SESSION = statement<{ id: string; now: number }, LiveSession>(
  // A user who belongs to the customer no longer has no session for it.
  `select sessions.user_id as "userId", customers.id as "customerId", memberships.role, customers.tier,
    sessions.last_used_at as "lastUsedAt"
  from sessions join customers on customers.id = sessions.customer_id
  join memberships on memberships.customer_id = sessions.customer_id and memberships.user_id = sessions.user_id
  where sessions.id = :id and sessions.revoked_at is null and sessions.expires_at > :now and customers.closing = 0`,
);

/** A session that is neither revoked nor past its end at `now`. Looked up for every request that a session authenticates. */
export async function findSession(db: Db, id: string, now: number): Promise<LiveSession | null> {
  const rows = await FIND_SESSION.all(db, { id, now });
  return rows[0] ?? null;
}

interface SessionOfMember {
  readonly id: string;
  readonly userId: string;
  readonly customerId: string;
  readonly now: number;
}

const ROLE_IN_SESSION = statement<SessionOfMember, Pick<MembershipsTable, 'role'>>(
  `select memberships.role from sessions join memberships on memberships.user_id = sessions.user_id
  where sessions.id = :id and sessions.user_id = :userId and sessions.revoked_at is null and sessions.expires_at > :now
  and memberships.customer_id = :customerId`,
);

/**
 * The role of a user in a customer, while the session counts. It may act for another customer by now: what it was asked before, it may still do.
 * @returns null: the session has ended, or the user is no member
 */
export async function roleInSession(db: Db, session: SessionOfMember): Promise<MemberRole | null> {
  return (await ROLE_IN_SESSION.first(db, session))?.role ?? null;
}

const END_OF_SESSION = statement<{ id: string; now: number }, { expires_at: number }>(
  'select expires_at from sessions where id = :id and revoked_at is null and expires_at > :now',
  { lock: 'for no key update' },
);

/** Holds a session until the unit ends, so that what ends it waits. @returns when it ends by itself. null: it counts no more */
export async function holdSession(tx: Tx, id: string, now: number): Promise<number | null> {
  return (await END_OF_SESSION.first(tx, { id, now }))?.expires_at ?? null;
}

const LIST = statement<{ userId: string; now: number }, SessionRow>(
  `select * from sessions where user_id = :userId and revoked_at is null and expires_at > :now
  order by created_at desc, id desc`,
);

/** A user's sessions that count at `now`, newest first. */
export function listSessions(db: Db, userId: string, now: number): Promise<SessionRow[]> {
  return LIST.all(db, { userId, now });
}

const TOUCH = statement<{ id: string; now: number; before: number }>(
  'update sessions set last_used_at = :now where id = :id and (last_used_at is null or last_used_at <= :before)',
);

/** Notes a use, unless one later than `before` is noted already. */
export async function touchSession(tx: Tx, id: string, now: number, before: number): Promise<void> {
  await TOUCH.run(tx, { id, now, before });
}

const REVOKE = statement<{ id: string; userId: string; now: number }>(
  `update sessions set revoked_at = :now
  where id = :id and user_id = :userId and revoked_at is null and expires_at > :now`,
);

/** Ends a session of the user, in a unit that holds the row of the user's own customer. @returns false when there is none that counts */
export async function revokeSession(tx: Tx, id: string, userId: string, now: number): Promise<boolean> {
  const isRevoked = (await REVOKE.run(tx, { id, userId, now })) > 0;
  if (isRevoked) markWork(tx, 'credentials');
  return isRevoked;
}

const REVOKE_ALL = statement<{ userId: string; now: number }, { id: string }>(
  `update sessions set revoked_at = :now
  where user_id = :userId and revoked_at is null and expires_at > :now returning id`,
);

/** Ends every session of the user, in a unit that holds the row of the user's own customer. @returns the ids of those that counted */
export async function revokeSessions(tx: Tx, userId: string, now: number): Promise<readonly string[]> {
  const revoked = await REVOKE_ALL.all(tx, { userId, now });
  if (revoked.length > 0) markWork(tx, 'credentials');
  return revoked.map(({ id }) => id);
}

const DELETE_ENDED = statement<{ userId: string; now: number }>(
  'delete from sessions where user_id = :userId and (expires_at <= :now or revoked_at is not null)',
);
const DELETE_OLDEST = statement<{ userId: string; most: number }, { id: string }>(
  `delete from sessions where user_id = :userId and id not in (
    select id from sessions where user_id = :userId order by created_at desc, id desc limit :most) returning id`,
);

/** Deletes a user's sessions that have ended, and the oldest of the rest, so that at most `most` are left. @returns the ids of those that counted */
export async function trimSessions(
  tx: Tx,
  userId: string,
  now: number,
  most: number,
): Promise<readonly string[]> {
  await DELETE_ENDED.run(tx, { userId, now });
  const oldest = await DELETE_OLDEST.all(tx, { userId, most });
  if (oldest.length > 0) markWork(tx, 'credentials');
  return oldest.map(({ id }) => id);
}
