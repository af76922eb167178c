import { type CustomersTable, firstOwner, type MemberRole, type MembershipsTable } from './accounts.ts';
import { markWork } from './engine/signals.ts';
import { insertText, statement } from './engine/statement.ts';
import type { Db, Tx } from './store.ts';

/** Invitations that were mailed and not yet accepted. */
export interface InvitationRow {
  id: string;
  customer_id: string;
  /** Lower case, unique in the organization. */
  email: string;
  role: MemberRole;
  /** Lower-case hex SHA-256 of the token, unique. */
  digest: string;
  expires_at: number;
  created_at: number;
  /** The owner who sent it; null: it is older than this column. */
  invited_by: string | null;
}

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

const INSERT_ORGANIZATION = statement<NewOrganization>(
  `insert into customers (id, name, tier, records_count, created_at) values (:id, :name, :tier, 0, :created_at)`,
);

/** Makes an organization with its first owner. */
export async function insertOrganization(tx: Tx, customer: NewOrganization, ownerId: string): Promise<void> {
  const { id: customer_id, created_at } = customer;
  await INSERT_ORGANIZATION.run(tx, customer);
  await insertMember(tx, { customer_id, user_id: ownerId, role: 'owner', created_at });
}

const INSERT_MEMBER = statement<MembershipsTable>(
  insertText(
    'memberships',
    'customer_id, user_id, role, created_at',
    'on conflict (customer_id, user_id) do nothing',
  ),
);

/** @returns false when the user is a member already */
export async function insertMember(tx: Tx, member: MembershipsTable): Promise<boolean> {
  return (await INSERT_MEMBER.run(tx, member)) > 0;
}

const COLUMNS = `customers.id, customers.name, customers.tier, memberships.role, customers.created_at,
  (select count(*) from memberships as members where members.customer_id = customers.id) as members_count
  from memberships join customers on customers.id = memberships.customer_id
  where memberships.user_id = :userId and customers.name is not null and customers.closing = 0`;

const FIND_ORGANIZATION = statement<{ id: string; userId: string }, OrganizationRow>(
  `select ${COLUMNS} and customers.id = :id`,
);

const LIST_ORGANIZATION = statement<{ userId: string }, OrganizationRow>(
  `select ${COLUMNS} order by customers.created_at, customers.id`,
);

/** @returns null when there is no such organization, or the user is not a member */
export async function findOrganization(db: Db, id: string, userId: string): Promise<OrganizationRow | null> {
  const rows = await FIND_ORGANIZATION.all(db, { id, userId });
  return rows[0] ?? null;
}

/** Those that the user belongs to, oldest first. */
export async function listOrganizations(db: Db, userId: string): Promise<readonly OrganizationRow[]> {
  const rows = await LIST_ORGANIZATION.all(db, { userId });
  return rows;
}

interface ListedOrganization extends Omit<OrganizationRow, 'role'> {
  readonly records_count: number;
  /** Mail address of the owner who has belonged to it for longest. */
  readonly owner: string;
}

const LIST_ALL = statement<{ id: string | null }, ListedOrganization>(
  `select id, name, tier, records_count, created_at,
    (select count(*) from memberships where memberships.customer_id = customers.id) as members_count,
    ${firstOwner('customers.id')} as owner
  from customers where name is not null and closing = 0 and (cast(:id as text) is null or id = :id)
  order by created_at, id`,
);

/** Every organization, or the one with the id, oldest first. */
export function allOrganizations(db: Db, id: string | null = null): Promise<ListedOrganization[]> {
  return LIST_ALL.all(db, { id });
}

const RENAME = statement<{ id: string; name: string }>('update customers set name = :name where id = :id');

export async function renameOrganization(tx: Tx, id: string, name: string): Promise<void> {
  await RENAME.run(tx, { id, name });
}

const FIND_EMAIL = statement<{ userId: string }, { email: string }>(
  'select email from users where id = :userId',
);

export async function findUserEmail(db: Db, userId: string): Promise<string | null> {
  return (await FIND_EMAIL.first(db, { userId }))?.email ?? null;
}

const MEMBER = `select users.id as user_id, users.email, memberships.role, memberships.created_at
  from memberships join users on users.id = memberships.user_id where memberships.customer_id = :customerId`;

const LIST_MEMBERS = statement<{ customerId: string }, MemberRow>(
  `${MEMBER} order by memberships.created_at, users.id`,
);

/** Longest membership first. */
export function listMembers(db: Db, customerId: string): Promise<MemberRow[]> {
  return LIST_MEMBERS.all(db, { customerId });
}

interface MemberParameters {
  readonly customerId: string;
  readonly userId: string;
}

const FIND_MEMBER = statement<MemberParameters, MemberRow>(`${MEMBER} and users.id = :userId`);

/** @returns null when the user is not a member */
export function findMember(db: Db, customerId: string, userId: string): Promise<MemberRow | null> {
  return FIND_MEMBER.first(db, { customerId, userId });
}

const COUNT_OTHER_OWNERS = statement<MemberParameters, { count: number }>(
  `select count(*) as count from memberships
  where customer_id = :customerId and user_id <> :userId and role = 'owner'`,
);

/** Owners beside the user. The caller holds the customer's row, so that two owners cannot both leave. */
export async function countOtherOwners(tx: Tx, customerId: string, userId: string): Promise<number> {
  return (await COUNT_OTHER_OWNERS.first(tx, { customerId, userId }))?.count ?? 0;
}

const SET_ROLE = statement<MemberParameters & { role: MemberRole }>(
  'update memberships set role = :role where customer_id = :customerId and user_id = :userId',
);

export async function setMemberRole(
  tx: Tx,
  customerId: string,
  userId: string,
  role: MemberRole,
): Promise<void> {
  await SET_ROLE.run(tx, { customerId, userId, role });
}

const DELETE_MEMBER = statement<MemberParameters>(
  'delete from memberships where customer_id = :customerId and user_id = :userId',
);

export async function deleteMember(tx: Tx, customerId: string, userId: string): Promise<void> {
  await DELETE_MEMBER.run(tx, { customerId, userId });
}

const REVOKE_IN = statement<{ customerId: string; userId: string | null; now: number }, { id: string }>(
  `update sessions set revoked_at = :now
  where customer_id = :customerId and (cast(:userId as text) is null or user_id = :userId) and revoked_at is null
  returning id`,
);

/**
 * Ends the sessions that act for a customer whose row the unit holds. @param userId whose; null: those of all members
 * @returns their ids
 */
export async function revokeSessionsIn(
  tx: Tx,
  customerId: string,
  userId: string | null,
  now: number,
): Promise<readonly string[]> {
  markWork(tx, 'credentials');
  return (await REVOKE_IN.all(tx, { customerId, userId, now })).map(({ id }) => id);
}

const SET_CUSTOMER = statement<{ sessionId: string; customerId: string; now: number }>(
  `update sessions set customer_id = :customerId
  where id = :sessionId and revoked_at is null and expires_at > :now`,
);

/** Makes a session act for a customer. The caller holds that customer's row. @returns false when the session has ended */
export async function setSessionCustomer(
  tx: Tx,
  sessionId: string,
  customerId: string,
  now: number,
): Promise<boolean> {
  return (await SET_CUSTOMER.run(tx, { sessionId, customerId, now })) > 0;
}

type Membership = Pick<MembershipsTable, 'customer_id' | 'role'>;

const MEMBERSHIPS = statement<{ userId: string }, Membership>(
  `select memberships.customer_id, memberships.role
  from memberships join customers on customers.id = memberships.customer_id
  where memberships.user_id = :userId and customers.name is not null and customers.closing = 0
  order by memberships.customer_id`,
);

/** The organizations of a user, without those that are being deleted, in the order in which units lock them. */
export function membershipsOf(db: Db, userId: string): Promise<Membership[]> {
  return MEMBERSHIPS.all(db, { userId });
}

const DELETE_FORMER = statement<{ customer_id: string; email: string }>(
  'delete from invitations where customer_id = :customer_id and email = :email',
);
const INSERT_INVITATION = statement<InvitationRow>(
  insertText('invitations', 'id, customer_id, email, role, digest, expires_at, created_at, invited_by'),
);

/** Replaces an earlier invitation of the same address to the same organization. */
export async function putInvitation(tx: Tx, invitation: InvitationRow): Promise<void> {
  await DELETE_FORMER.run(tx, invitation);
  await INSERT_INVITATION.run(tx, invitation);
}

const LIST_INVITATION = statement<{ customerId: string; now: number }, InvitationRow>(
  'select * from invitations where customer_id = :customerId and expires_at > :now order by created_at, id',
);

/** Those that can be accepted at `now`, oldest first. */
export function listInvitations(db: Db, customerId: string, now: number): Promise<InvitationRow[]> {
  return LIST_INVITATION.all(db, { customerId, now });
}

const DELETE_ENDED = statement<{ now: number; limit: number }>(
  'delete from invitations where id in (select id from invitations where expires_at <= :now limit :limit)',
);

/** Deletes up to `limit` invitations that have ended at `now`. @returns how many there were */
export function deleteEndedInvitations(tx: Tx, now: number, limit: number): Promise<number> {
  return DELETE_ENDED.run(tx, { now, limit });
}

const DELETE_TO = statement<{ userId: string }>(
  'delete from invitations where email = (select email from users where id = :userId)',
);

/** Deletes the invitations of a user's address to any organization. */
export async function deleteInvitationsTo(tx: Tx, userId: string): Promise<void> {
  await DELETE_TO.run(tx, { userId });
}

const FIND_INVITATION = statement<{ digest: string; email: string; now: number }, InvitationRow>(
  'select * from invitations where digest = :digest and email = :email and expires_at > :now',
);

/** @param digest lower-case hex SHA-256 of the token. @param email of the user who wants to accept it */
export function findInvitation(
  db: Db,
  digest: string,
  email: string,
  now: number,
): Promise<InvitationRow | null> {
  return FIND_INVITATION.first(db, { digest, email, now });
}

type DeletedInvitation = Pick<InvitationRow, 'id' | 'email'>;

const DELETE = statement<{ id: string; customerId: string }, DeletedInvitation>(
  'delete from invitations where id = :id and customer_id = :customerId returning id, email',
);

/** @returns null when the organization has no such invitation any more */
export function deleteInvitation(tx: Tx, id: string, customerId: string): Promise<DeletedInvitation | null> {
  return DELETE.first(tx, { id, customerId });
}

const DELETE_SENT = statement<MemberParameters, DeletedInvitation>(
  `delete from invitations where customer_id = :customerId and (invited_by = :userId or invited_by is null)
  returning id, email`,
);

/** Deletes the invitations that an owner sent, and those of which nobody knows who did. @returns them */
export function deleteInvitationsOf(
  tx: Tx,
  customerId: string,
  userId: string,
): Promise<readonly DeletedInvitation[]> {
  return DELETE_SENT.all(tx, { customerId, userId });
}
