import { AppError, forbidden, notFound, unauthenticated } from '../../base/errors.ts';
import { LIMITS } from '../../base/limits.ts';
import { formatTime } from '../../base/text/time.ts';
import type { JsonObject } from '../../protocol/input/fields.ts';
import type { Db, Tx } from '../../store/store.ts';
import { lockCustomer } from '../../store/tables/customers.ts';
import {
  findOrganization,
  insertOrganization,
  listOrganizations,
  type OrganizationRow,
  renameOrganization,
  setSessionCustomer,
} from '../../store/tables/organizations.ts';
import { type Actor, requireSession } from '../accounts/actor.ts';
import type { HasClock, HasIds, HasStore } from '../accounts/deps.ts';
import { holdCustomer } from '../accounts/hold-customer.ts';
import { NEW_ORGANIZATION, type OrganizationResource, SESSION_SWITCH } from './input.ts';

export function organizationResource(row: OrganizationRow): OrganizationResource {
  return {
    id: row.id,
    name: row.name,
    role: row.role,
    tier: row.tier,
    members_count: row.members_count,
    created_at: formatTime(row.created_at),
  };
}

/** The organization as the user sees it. @throws AppError 404 also for one that the user does not belong to */
export async function memberOf(db: Db, id: string, userId: string): Promise<OrganizationRow> {
  const row = await findOrganization(db, id, userId);
  if (row === null) throw notFound('Organization');
  return row;
}

/**
 * Holds the organization's row until the unit ends, so that changes of its members come one after the other.
 * @throws AppError 404 see `memberOf`; 403 for a user who is no owner
 */
export async function lockAsOwner(tx: Tx, id: string, userId: string): Promise<OrganizationRow> {
  await lockCustomer(tx, id);
  const row = await memberOf(tx, id, userId);
  if (row.role !== 'owner') throw forbidden('Only an owner of the organization may do this');
  return row;
}

/** The caller becomes its first owner. @throws AppError 403 for an API key; 422 for faults or too many organizations */
export async function createOrganization(
  { store, clock, newId }: HasStore & HasClock & HasIds,
  actor: Actor,
  body: JsonObject,
): Promise<OrganizationResource> {
  requireSession(actor);
  const { userId } = actor;
  const { name } = NEW_ORGANIZATION.parse(body, {});
  const row = { id: newId(), name, tier: 'free', created_at: clock() } as const;
  return store.write(async (tx) => {
    await holdCustomer(tx, userId);
    await requireRoomOf(tx, userId);
    await insertOrganization(tx, row, userId);
    return organizationResource({ ...row, role: 'owner', members_count: 1 });
  });
}

/** A user belongs to a limited number of organizations. The caller holds the row of the user's own customer. */
export async function requireRoomOf(tx: Tx, userId: string): Promise<void> {
  const all = await listOrganizations(tx, userId);
  if (all.length >= LIMITS.organizationsPerUser) {
    throw new AppError('quota_exceeded', 'Organization limit of the account reached');
  }
}

/** Those that the caller belongs to, oldest first. @throws AppError 403 for an API key */
export async function listOwnOrganizations(
  { store }: HasStore,
  actor: Actor,
): Promise<OrganizationResource[]> {
  requireSession(actor);
  return (await listOrganizations(store.read, actor.userId)).map(organizationResource);
}

/** @throws AppError 403 for an API key, 404 */
export async function getOrganization(
  { store }: HasStore,
  actor: Actor,
  id: string,
): Promise<OrganizationResource> {
  requireSession(actor);
  return organizationResource(await memberOf(store.read, id, actor.userId));
}

/** @throws AppError 403 for an API key or a user who is no owner, 404, 422 */
export async function patchOrganization(
  { store }: HasStore,
  actor: Actor,
  id: string,
  body: JsonObject,
): Promise<OrganizationResource> {
  requireSession(actor);
  const { userId } = actor;
  const { name } = NEW_ORGANIZATION.parse(body, {});
  return store.write(async (tx) => {
    const row = await lockAsOwner(tx, id, userId);
    await renameOrganization(tx, id, name);
    return organizationResource({ ...row, name });
  });
}

/**
 * POST /auth/organization: from now on the session acts for the organization, or with null for the user's own customer.
 * @throws AppError 403 for an API key, 404 for an organization that the user does not belong to, 422
 */
export async function switchOrganization(
  { store, clock }: HasStore & HasClock,
  actor: Actor,
  body: JsonObject,
): Promise<{ readonly organization: OrganizationResource | null }> {
  requireSession(actor);
  const { userId, sessionId } = actor;
  const { organization_id: id } = SESSION_SWITCH.parse(body, {});
  return store.write(async (tx) => {
    // Held against a removal of the member, which ends the sessions of the organization.
    await lockCustomer(tx, id ?? userId);
    const row = id === null ? null : await memberOf(tx, id, userId);
    if (!(await setSessionCustomer(tx, sessionId, id ?? userId, clock()))) {
      throw unauthenticated('Credentials are not valid');
    }
    return { organization: row && organizationResource(row) };
  });
}
