import { invalid, namespaceSuspended, notFound, unauthenticated } from '../../base/errors.ts';
import { LIMITS, TIERS, type Tier } from '../../base/limits.ts';
import { formatTime } from '../../base/time.ts';
import type { SignedIn } from '../../http/actor.ts';
import type { JsonObject } from '../../protocol/input/fields.ts';
import { COUNT, resourceSchema, TIME, TIME_OR_NULL, UUID } from '../../protocol/input/schema.ts';
import { required, shape, textOf } from '../../protocol/input/shape.ts';
import { foldCase } from '../../protocol/names/labels.ts';
import {
  closeCustomer,
  deleteUser,
  findUserByEmail,
  findUserWithCounts,
  hasSuspendedNamespace,
  insertUser,
  listSessions,
  listUsersWithCounts,
  lockCustomer,
  lockCustomers,
  type MemberRole,
  revokeSession,
  revokeSessions,
  type SessionRow,
  type UserWithCounts,
  updateTier,
} from '../../store/accounts.ts';
import { forgetInvited } from '../../store/audit.ts';
import { markWork } from '../../store/engine/signals.ts';
import { countOtherOwners, deleteInvitationsTo, membershipsOf } from '../../store/organizations.ts';
import type { Db, Tx } from '../../store/store.ts';
import { closeWebhooks, pauseWebhooksAbove } from '../../store/webhooks/webhooks.ts';
import { audited, auditFor, BY_OPERATOR, byActor } from '../audit/actions.ts';
import type { HasClock, HasIds, HasStore } from '../deps.ts';
import { endInvitationsOf, endTokensOfSessions, endWhatUserMade, writeAs } from './membership.ts';
import type { HasSessions, NewSession } from './sessions.ts';

export type UserResource = ReturnType<typeof userResource> & {
  /** Present only while the session acts for an organization. */
  readonly organization?: ActiveOrganization;
};

interface ActiveOrganization {
  readonly id: string;
  readonly name: string;
  /** Of the user. */
  readonly role: MemberRole;
}

const ACTIVE_ORGANIZATION_SCHEMA = resourceSchema<ActiveOrganization>('ActiveOrganization', {
  id: UUID,
  name: { type: 'string', examples: ['Acme'] },
  role: { type: 'string', enum: ['owner', 'member'] },
});

export const USER_SCHEMA = resourceSchema<UserResource>(
  'User',
  {
    id: UUID,
    email: { type: 'string', examples: ['me@example.com'] },
    role: { type: 'string', enum: ['user', 'admin'] },
    records_count: COUNT,
    api_keys_count: COUNT,
    namespaces_count: COUNT,
    created_at: TIME,
    organization: ACTIVE_ORGANIZATION_SCHEMA,
  },
  { organization: true },
);

type UserListing = UserResource & { readonly tier: Tier };

/** A mailbox and a host name, or a host without a dot such as localhost. */
const EMAIL =
  /^[a-z0-9!#$%&'*+/=?^_`{|}~-]+(?:\.[a-z0-9!#$%&'*+/=?^_`{|}~-]+)*@[a-z0-9](?:[a-z0-9.-]*[a-z0-9])?$/;

/** The stored form of an address; null when it is not valid. */
export function normalizeEmail(text: string): string | null {
  const email = foldCase(text.trim());
  return email.length <= LIMITS.mailAddress && EMAIL.test(email) && !email.includes('..') ? email : null;
}

const NOTHING = { customer_name: null, records_count: 0, namespaces_count: 0, api_keys_count: 0 } as const;

function userResource(user: UserWithCounts) {
  return {
    id: user.id,
    email: user.email,
    role: user.role,
    records_count: user.records_count,
    api_keys_count: user.api_keys_count,
    namespaces_count: user.namespaces_count,
    created_at: formatTime(user.created_at),
  };
}

/** GET /me. */
export async function currentUser({ store }: HasStore, actor: SignedIn): Promise<UserResource> {
  const { customerId: id, role } = actor;
  const user = await findUserWithCounts(store.read, actor.userId, id);
  if (user === null) throw notFound('User');
  const { customer_name: name } = user;
  return {
    ...userResource(user),
    ...(name !== null && role !== null && { organization: { id, name, role } }),
  };
}

/** The user who has just signed in, with their own customer. @throws AppError 401 when they were deleted since */
export async function userOfSession({ store }: HasStore, { userId }: Pick<NewSession, 'userId'>) {
  const user = await findUserWithCounts(store.read, userId, userId);
  if (user === null) throw unauthenticated('Credentials are not valid');
  return userResource(user);
}

type CreateDeps = HasStore & HasClock & HasIds;

/** For the operator. @throws AppError 422 for an address that is invalid or in use */
export async function createUser(deps: CreateDeps, email: string, tier: Tier): Promise<UserListing> {
  const address = normalizeEmail(email);
  if (address === null) throw invalid('email is not an email address');
  const user = { id: deps.newId(), email: address, role: 'user', created_at: deps.clock() } as const;
  const isNew = await deps.store.write((tx) => insertUser(tx, user, tier));
  if (!isNew) throw invalid('email has already been taken');
  return { ...userResource({ ...user, tier, ...NOTHING }), tier };
}

/**
 * Moves a user's own customer to another tier. Records above a lower cap stay, and none can be added. The newest webhooks above a
 * lower quota are paused; a higher quota does not enable them again.
 * @throws AppError 404
 */
export async function setTier(
  { store, clock }: HasStore & HasClock,
  email: string,
  tier: Tier,
): Promise<void> {
  const user = await store.write(async (tx) => {
    const found = await findUserByEmail(tx, foldCase(email.trim()));
    if (found === null) return null;
    await lockCustomer(tx, found.id);
    await updateTier(tx, found.id, tier);
    const now = clock();
    await pauseWebhooksAbove(tx, found.id, TIERS[tier].webhooks, now);
    await auditFor(tx, found.id, BY_OPERATOR, now, 'operator.tier', audited.account(found.id));
    return found;
  });
  if (user === null) throw notFound('User');
}

/** For the operator. Oldest first. */
export async function listUsers({ store }: HasStore): Promise<UserListing[]> {
  const users = await listUsersWithCounts(store.read);
  return users.map((user) => ({ ...userResource(user), tier: user.tier }));
}

/** A new session. */
interface IssuedToken {
  readonly token: string;
  readonly sessionId: string;
  /** Milliseconds since the epoch. */
  readonly expiresAt: number;
}

/** For the operator: signs a customer in. @throws AppError 404 */
export async function issueToken(
  { store, sessions }: HasStore & HasSessions,
  email: string,
): Promise<IssuedToken> {
  const user = await findUserByEmail(store.read, foldCase(email.trim()));
  if (user === null) throw notFound('User');
  const session = await store.write((tx) => sessions.begin(tx, user.id, 'cli', null));
  return { token: await sessions.token(session), sessionId: session.sessionId, expiresAt: session.expiresAt };
}

type SessionResource = ReturnType<typeof sessionResource>;

export const SESSION_SCHEMA = resourceSchema<SessionResource>('Session', {
  id: UUID,
  method: { type: 'string', enum: ['code', 'passkey', 'cli'] },
  current: { type: 'boolean', description: 'The session of this request' },
  created_at: TIME,
  last_used_at: { ...TIME_OR_NULL, description: 'At most a minute behind' },
  expires_at: TIME,
});

type Deps = HasStore & HasClock;

function sessionResource(row: SessionRow, currentId: string | null) {
  return {
    id: row.id,
    method: row.method,
    current: row.id === currentId,
    created_at: formatTime(row.created_at),
    last_used_at: row.last_used_at === null ? null : formatTime(row.last_used_at),
    expires_at: formatTime(row.expires_at),
  };
}

/** Newest first. */
export async function listOwnSessions({ store, clock }: Deps, actor: SignedIn): Promise<SessionResource[]> {
  const rows = await listSessions(store.read, actor.userId, clock());
  return rows.map((row) => sessionResource(row, actor.sessionId));
}

/** Signs out one session at once. @throws AppError 404 */
export async function endOwnSession(deps: Deps, actor: SignedIn, id: string): Promise<void> {
  if (!(await endSession(deps, actor, id))) throw notFound('Session');
}

/** @returns false when there is none that counts */
function endSession(deps: Deps, actor: SignedIn, id: string): Promise<boolean> {
  const { userId } = actor;
  return writeAs(deps, actor, async (tx) => {
    const now = deps.clock();
    const isEnded = await revokeSession(tx, id, userId, now);
    if (!isEnded) return false;
    await endTokensOfSessions(tx, [id], now);
    // A session is the user's own matter, whichever organization it acts for.
    await auditFor(tx, userId, byActor(actor), now, 'session.ended', audited.session(id));
    return true;
  });
}

/** Signs out the session of the request. */
export async function signOut(deps: Deps, actor: SignedIn): Promise<void> {
  await endSession(deps, actor, actor.sessionId);
}

/** Signs out everywhere, the session of the request included. */
export async function endOwnSessions(deps: Deps, actor: SignedIn): Promise<void> {
  await writeAs(deps, actor, (tx) => endSessions(tx, actor.userId, byActor(actor), deps.clock()));
}

async function endSessions(
  tx: Tx,
  userId: string,
  by: ReturnType<typeof byActor>,
  now: number,
): Promise<number> {
  const ended = await revokeSessions(tx, userId, now);
  await endTokensOfSessions(tx, ended, now);
  if (ended.length > 0) await auditFor(tx, userId, by, now, 'session.ended', audited.sessions(ended.length));
  return ended.length;
}

/** For the operator: a user's sessions, newest first. @throws AppError 404 */
export async function sessionsOf({ store, clock }: Deps, email: string): Promise<SessionResource[]> {
  const rows = await listSessions(store.read, await userIdOf(store.read, email), clock());
  return rows.map((row) => sessionResource(row, null));
}

/** For the operator: signs a user out everywhere. @returns how many sessions ended. @throws AppError 404 */
export async function endSessionsOf({ store, clock }: Deps, email: string): Promise<number> {
  return store.write(async (tx) => {
    const userId = await userIdOf(tx, email);
    // As the unit of a request: no unit of these sessions is half done.
    await lockCustomer(tx, userId);
    return endSessions(tx, userId, BY_OPERATOR, clock());
  });
}

async function userIdOf(db: Db, email: string): Promise<string> {
  const user = await findUserByEmail(db, foldCase(email.trim()));
  if (user === null) throw notFound('User');
  return user.id;
}

/** The address, typed again: proof that the user means it. */
export const ACCOUNT_DELETION = shape('AccountDeletion', {
  email: required(textOf({ examples: ['me@example.com'] })),
});

const OTHER_ADDRESS = 'email is not the address of this account';
const LAST_OWNER =
  'The last owner of an organization cannot delete the account: make another member an owner, or delete it, first';

/**
 * DELETE /me. Signed out everywhere, with the address free, when it returns; the rest goes in later units.
 * @throws AppError 403 with a suspended namespace; 422 for another address, or the last owner of an organization
 */
export async function deleteOwnAccount(
  deps: HasStore & HasClock,
  actor: SignedIn,
  body: JsonObject,
): Promise<void> {
  const { userId } = actor;
  const email = normalizeEmail(ACCOUNT_DELETION.parse(body, undefined).email);
  const others = await organizationsOf(deps.store.read, userId);
  const close = async (tx: Tx): Promise<void> => {
    const user = email === null ? null : await findUserByEmail(tx, email);
    if (user?.id !== userId) throw invalid(OTHER_ADDRESS);
    // Its name would be free again: the suspension could be ended so.
    if (await hasSuspendedNamespace(tx, userId)) throw namespaceSuspended();
    await closeAccount(tx, userId, byActor(actor), 'account.deleted', deps.clock());
  };
  await writeAs(deps, actor, close, others);
}

/** For the operator, also with suspended namespaces. @throws AppError 404; 422 for the last owner of an organization */
export async function deleteAccount({ store, clock }: HasStore & HasClock, email: string): Promise<void> {
  await store.write(async (tx) => {
    const user = await findUserByEmail(tx, foldCase(email.trim()));
    if (user === null) throw notFound('User');
    await lockCustomers(tx, [user.id, ...(await organizationsOf(tx, user.id))]);
    await closeAccount(tx, user.id, BY_OPERATOR, 'operator.user_deleted', clock());
  });
}

async function organizationsOf(db: Db, userId: string): Promise<string[]> {
  return (await membershipsOf(db, userId)).map(({ customer_id }) => customer_id);
}

/**
 * Deletes the user, with sessions, passkeys and memberships, what the user made in organizations, and the keys; closes the webhooks; and leaves the namespaces to later
 * units (`namespaces/deletion.ts`). Nothing that is left names a person.
 */
async function closeAccount(
  tx: Tx,
  id: string,
  by: ReturnType<typeof byActor>,
  action: 'account.deleted' | 'operator.user_deleted',
  now: number,
): Promise<void> {
  // First, as the end of a membership does: units that delete invitations before they write to the log do not wait for each other.
  await deleteInvitationsTo(tx, id);
  for (const { customer_id: organization, role } of await membershipsOf(tx, id)) {
    // Nearly always held. An invitation may have been accepted since the unit chose what to hold.
    if (!(await lockCustomer(tx, organization))) continue;
    if (role === 'owner') {
      if ((await countOtherOwners(tx, organization, id)) === 0) throw invalid(LAST_OWNER);
      await endInvitationsOf(tx, organization, id, by, now);
    }
    await endWhatUserMade(tx, organization, id, now);
    await auditFor(tx, organization, by, now, 'member.removed', audited.member(id));
  }
  await closeWebhooks(tx, id);
  await closeCustomer(tx, id);
  await auditFor(tx, id, by, now, action, audited.account(id));
  await forgetInvited(tx, id);
  await deleteUser(tx, id);
  markWork(tx, 'deletions');
  markWork(tx, 'credentials');
}
