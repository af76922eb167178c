import { invalid, notFound } from '../../core/errors.ts';
import { foldCase } from '../../core/names/labels.ts';
import { formatTime } from '../../core/text/time.ts';
import { TIERS, type Tier } from '../../core/tiers.ts';
import {
  findUserByEmail,
  findUserWithCounts,
  insertUser,
  listUsersWithCounts,
  type UserRow,
  type UserWithCounts,
  updateTier,
} from '../store/tables/users.ts';
import { pauseWebhooksAbove } from '../store/webhooks/webhooks.ts';
import { type Actor, requireSession } from './actor.ts';
import type { HasClock, HasIds, HasSessions, HasStore } from './deps.ts';
import type { IssuedToken } from './sessions.ts';

export interface UserResource {
  readonly id: string;
  readonly email: string;
  readonly role: 'user' | 'admin';
  readonly records_count: number;
  readonly api_keys_count: number;
  readonly namespaces_count: number;
  readonly created_at: string;
}

export interface UserListing extends UserResource {
  readonly tier: Tier;
}

/** A mailbox and a host name, or a host without a dot such as localhost; at most 254 octets (RFC 5321 §4.5.3.1). */
const EMAIL =
  /^[a-z0-9!#$%&'*+/=?^_`{|}~-]+(?:\.[a-z0-9!#$%&'*+/=?^_`{|}~-]+)*@[a-z0-9](?:[a-z0-9.-]*[a-z0-9])?$/;
const EMAIL_MAX = 254;

/** The stored form of an address; null when it is not valid. */
export function normalizeEmail(text: string): string | null {
  const email = foldCase(text.trim());
  return email.length <= EMAIL_MAX && EMAIL.test(email) && !email.includes('..') ? email : null;
}

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
export async function currentUser({ store }: HasStore, actor: Actor): Promise<UserResource> {
  requireSession(actor);
  const user = await findUserWithCounts(store.read, actor.customerId);
  if (user === null) throw notFound('User');
  return userResource(user);
}

type CreateDeps = HasStore & HasClock & HasIds;

/** For the operator. @throws AppError 422 for an address that is invalid or in use */
export async function createUser(deps: CreateDeps, email: string, tier: Tier): Promise<UserListing> {
  const address = normalizeEmail(email);
  if (address === null) throw invalid('email is not an email address');
  const user: UserRow = {
    id: deps.newId(),
    email: address,
    role: 'user',
    tier,
    records_count: 0,
    created_at: deps.clock(),
  };
  if (!(await deps.store.write((tx) => insertUser(tx, user)))) throw invalid('email has already been taken');
  return { ...userResource({ ...user, namespaces_count: 0, api_keys_count: 0 }), tier };
}

/**
 * Moves a customer to another tier. Records above a lower cap stay, and none can be added. The newest webhooks above a
 * lower quota are paused; a higher quota does not enable them again.
 * @throws AppError 404
 */
export async function setTier(
  { store, clock }: HasStore & HasClock,
  email: string,
  tier: Tier,
): Promise<void> {
  const user = await store.write(async (tx) => {
    const changed = await updateTier(tx, foldCase(email.trim()), tier);
    if (changed !== null) await pauseWebhooksAbove(tx, changed.id, TIERS[tier].webhooks, clock());
    return changed;
  });
  if (user === null) throw notFound('User');
}

/** For the operator. Oldest first. */
export async function listUsers({ store }: HasStore): Promise<UserListing[]> {
  const users = await listUsersWithCounts(store.read);
  return users.map((user) => ({ ...userResource(user), tier: user.tier }));
}

/** For the operator: signs a customer in. @throws AppError 404 */
export async function issueToken(
  { store, sessions }: HasStore & HasSessions,
  email: string,
): Promise<IssuedToken> {
  const user = await findUserByEmail(store.read, foldCase(email.trim()));
  if (user === null) throw notFound('User');
  return store.write((tx) => sessions.begin(tx, user.id));
}
