import { invalid, notFound } from '../../base/errors.ts';
import { LIMITS } from '../../base/limits.ts';
import { formatTime } from '../../base/text/time.ts';
import { TIERS, type Tier } from '../../base/tiers.ts';
import { COUNT, resourceSchema, TIME, UUID } from '../../protocol/input/schema.ts';
import { foldCase } from '../../protocol/names/labels.ts';
import type { MemberRole } from '../../store/schema.ts';
import { lockCustomer, updateTier } from '../../store/tables/customers.ts';
import {
  findUserByEmail,
  findUserWithCounts,
  insertUser,
  listUsersWithCounts,
  type UserWithCounts,
} from '../../store/tables/users.ts';
import { pauseWebhooksAbove } from '../../store/webhooks/webhooks.ts';
import { type Actor, requireSession } from './actor.ts';
import type { HasClock, HasIds, HasSessions, HasStore } from './deps.ts';
import type { NewSession } from './sessions.ts';

export interface UserResource {
  readonly id: string;
  readonly email: string;
  readonly role: 'user' | 'admin';
  readonly records_count: number;
  readonly api_keys_count: number;
  readonly namespaces_count: number;
  readonly created_at: string;
  /** Present only while the session acts for an organization. */
  readonly organization?: ActiveOrganization;
}

export interface ActiveOrganization {
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

export interface UserListing extends UserResource {
  readonly tier: Tier;
}

/** A mailbox and a host name, or a host without a dot such as localhost. */
const EMAIL =
  /^[a-z0-9!#$%&'*+/=?^_`{|}~-]+(?:\.[a-z0-9!#$%&'*+/=?^_`{|}~-]+)*@[a-z0-9](?:[a-z0-9.-]*[a-z0-9])?$/;

/** The stored form of an address; null when it is not valid. */
export function normalizeEmail(text: string): string | null {
  const email = foldCase(text.trim());
  return email.length <= LIMITS.mailAddress && EMAIL.test(email) && !email.includes('..') ? email : null;
}

const NOTHING = { customer_name: null, records_count: 0, namespaces_count: 0, api_keys_count: 0 } as const;

function userResource(user: UserWithCounts): UserResource {
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

/** GET /me. @throws AppError 403 for an API key */
export async function currentUser(deps: HasStore, actor: Actor): Promise<UserResource> {
  requireSession(actor);
  const { customerId: id, role } = actor;
  const user = await findUser(deps, actor.userId, id);
  const { customer_name: name } = user;
  return {
    ...userResource(user),
    ...(name !== null && role !== null && { organization: { id, name, role } }),
  };
}

/** The user who has just signed in, with their own customer. @throws AppError 404 when they were deleted since */
export async function userOfSession(
  deps: HasStore,
  { userId }: Pick<NewSession, 'userId'>,
): Promise<UserResource> {
  return userResource(await findUser(deps, userId, userId));
}

async function findUser({ store }: HasStore, id: string, customerId: string): Promise<UserWithCounts> {
  const user = await findUserWithCounts(store.read, id, customerId);
  if (user === null) throw notFound('User');
  return user;
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
    await pauseWebhooksAbove(tx, found.id, TIERS[tier].webhooks, clock());
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
  const session = await store.write((tx) => sessions.begin(tx, user.id, 'cli'));
  return { token: await sessions.token(session), sessionId: session.sessionId, expiresAt: session.expiresAt };
}
