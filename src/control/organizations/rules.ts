import {
  AppError,
  forbidden,
  invalid,
  namespaceSuspended,
  notFound,
  unauthenticated,
} from '../../base/errors.ts';
import { LIMITS, TIERS, type Tier } from '../../base/limits.ts';
import { formatTime } from '../../base/time.ts';
import type { SignedIn } from '../../http/actor.ts';
import type { JsonObject } from '../../protocol/input/fields.ts';
import { COUNT, resourceSchema, TIME, UUID } from '../../protocol/input/schema.ts';
import { nameOf, parsedOf, type Reader, required, shape } from '../../protocol/input/shape.ts';
import {
  closeCustomer,
  hasSuspendedNamespace,
  lockCustomer,
  type MemberRole,
  updateTier,
} from '../../store/accounts.ts';
import { markWork } from '../../store/engine/signals.ts';
import {
  allOrganizations,
  countOtherOwners,
  deleteMember,
  findMember,
  findOrganization,
  insertOrganization,
  listMembers,
  listOrganizations,
  type MemberRow,
  type OrganizationRow,
  renameOrganization,
  setMemberRole,
  setSessionCustomer,
} from '../../store/organizations.ts';
import type { Db, Tx } from '../../store/store.ts';
import { closeWebhooks, pauseWebhooksAbove } from '../../store/webhooks/webhooks.ts';
import { endInvitationsOf, endSessionsIn, endWhatUserMade, writeAs } from '../accounts/membership.ts';
import { audited, auditFor, BY_OPERATOR, byActor } from '../audit/actions.ts';
import type { HasClock, HasIds, HasStore, HasUnit } from '../deps.ts';

export type OrganizationResource = ReturnType<typeof organizationResource>;

type MemberResource = ReturnType<typeof memberResource>;

const UUID_TEXT = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i;
const ROLES: readonly MemberRole[] = ['owner', 'member'];
export const EMAIL_SCHEMA = { type: 'string', examples: ['colleague@example.com'] } as const;
export const ROLE_SCHEMA = { type: 'string', enum: ROLES } as const;
const NAME_SCHEMA = { type: 'string', examples: ['Acme'] } as const;

export const ORGANIZATION_SCHEMA = resourceSchema<OrganizationResource>('Organization', {
  id: UUID,
  name: NAME_SCHEMA,
  role: { ...ROLE_SCHEMA, description: 'Of the caller' },
  tier: { type: 'string', enum: Object.keys(TIERS) },
  members_count: COUNT,
  created_at: TIME,
});

export const MEMBER_SCHEMA = resourceSchema<MemberResource>('Member', {
  user_id: UUID,
  email: EMAIL_SCHEMA,
  role: ROLE_SCHEMA,
  created_at: TIME,
});

export const ROLE = parsedOf(
  ROLE_SCHEMA,
  (text) => ROLES.find((known) => known === text),
  'must be owner or member',
);

const ID_OR_NULL: Reader<string | null> = {
  schema: { ...UUID, type: ['string', 'null'] },
  read(fields, name) {
    if (fields.isNull(name)) return null;
    const text = fields.text(name);
    if (text === undefined || UUID_TEXT.test(text)) return text?.toLowerCase();
    fields.fault(name, 'must be an id or null');
    return undefined;
  },
};

export const NEW_ORGANIZATION = shape('NewOrganization', {
  name: required(nameOf(LIMITS.organizationName, 'Acme')),
});

export const MEMBER_PATCH = shape('MemberPatch', { role: required(ROLE) });

export const SESSION_SWITCH = shape('SessionOrganization', { organization_id: required(ID_OR_NULL) });

export function organizationResource(row: OrganizationRow) {
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

/** The organization as `memberOf` finds it. @throws AppError 404; 403 for a user who is no owner */
export async function ownedBy(db: Db, id: string, userId: string): Promise<OrganizationRow> {
  const row = await memberOf(db, id, userId);
  if (row.role !== 'owner') throw forbidden('Only an owner of the organization may do this');
  return row;
}

/** The caller becomes its first owner. @throws AppError 422 for faults or too many organizations */
export async function createOrganization(
  { unit, clock, newId }: HasUnit & HasClock & HasIds,
  actor: SignedIn,
  body: JsonObject,
): Promise<OrganizationResource> {
  const { userId } = actor;
  const { name } = NEW_ORGANIZATION.parse(body, {});
  const row = { id: newId(), name, tier: 'free', created_at: clock() } as const;
  return unit(actor, async (tx) => {
    await requireRoomOf(tx, userId);
    await insertOrganization(tx, row, userId);
    const object = audited.organization(row);
    await auditFor(tx, row.id, byActor(actor), row.created_at, 'organization.created', object);
    return organizationResource({ ...row, role: 'owner', members_count: 1 });
  });
}

/** A user belongs to a limited number of organizations. The unit holds the row of the user's own customer. */
export async function requireRoomOf(tx: Tx, userId: string): Promise<void> {
  const all = await listOrganizations(tx, userId);
  if (all.length >= LIMITS.organizationsPerUser) {
    throw new AppError('quota_exceeded', 'Organization limit of the account reached');
  }
}

/** Those that the caller belongs to, oldest first. */
export async function listOwnOrganizations({ store }: HasStore, actor: SignedIn) {
  return (await listOrganizations(store.read, actor.userId)).map(organizationResource);
}

/** @throws AppError 404 */
export async function getOrganization({ store }: HasStore, actor: SignedIn, id: string) {
  return organizationResource(await memberOf(store.read, id, actor.userId));
}

/** @throws AppError 403 for a user who is no owner, 404, 422 */
export async function patchOrganization(
  deps: HasStore & HasClock,
  actor: SignedIn,
  id: string,
  body: JsonObject,
): Promise<OrganizationResource> {
  const { userId } = actor;
  const { name } = NEW_ORGANIZATION.parse(body, {});
  return writeAs(
    deps,
    actor,
    async (tx) => {
      const row = await ownedBy(tx, id, userId);
      await renameOrganization(tx, id, name);
      const object = audited.organization({ id, name });
      await auditFor(tx, id, byActor(actor), deps.clock(), 'organization.changed', object);
      return organizationResource({ ...row, name });
    },
    [id],
  );
}

/**
 * POST /auth/organization: from now on the session acts for the organization, or with null for the user's own customer.
 * @throws AppError 404 for an organization that the user does not belong to, 422
 */
export async function switchOrganization(
  deps: HasStore & HasClock,
  actor: SignedIn,
  body: JsonObject,
): Promise<{ readonly organization: OrganizationResource | null }> {
  const { userId, sessionId } = actor;
  const { organization_id: id } = SESSION_SWITCH.parse(body, {});
  return writeAs(
    deps,
    actor,
    async (tx) => {
      // The unit holds the organization against a removal of the member, which ends its sessions there.
      const row = id === null ? null : await memberOf(tx, id, userId);
      if (!(await setSessionCustomer(tx, sessionId, id ?? userId, deps.clock()))) {
        throw unauthenticated('Credentials are not valid');
      }
      return { organization: row && organizationResource(row) };
    },
    id === null ? [] : [id],
  );
}

const LAST_OWNER = 'The last owner of an organization must stay its owner';

function memberResource(row: MemberRow) {
  return { user_id: row.user_id, email: row.email, role: row.role, created_at: formatTime(row.created_at) };
}

/** Longest membership first. @throws AppError 404 */
export async function listOrganizationMembers({ store }: HasStore, actor: SignedIn, id: string) {
  await memberOf(store.read, id, actor.userId);
  return (await listMembers(store.read, id)).map(memberResource);
}

/** @throws AppError 403 for a user who is no owner, 404, 422 for faults or the last owner */
export async function patchMember(
  deps: HasStore & HasClock,
  actor: SignedIn,
  id: string,
  memberId: string,
  body: JsonObject,
): Promise<MemberResource> {
  const { userId } = actor;
  const { role } = MEMBER_PATCH.parse(body, {});
  return writeAs(
    deps,
    actor,
    async (tx) => {
      await ownedBy(tx, id, userId);
      const member = await findMember(tx, id, memberId);
      if (member === null) throw notFound('Member');
      const now = deps.clock();
      const by = byActor(actor);
      if (role !== 'owner') await requireOtherOwner(tx, id, member);
      if (role !== 'owner' && member.role === 'owner') await endInvitationsOf(tx, id, memberId, by, now);
      await setMemberRole(tx, id, memberId, role);
      await auditFor(tx, id, by, now, 'member.changed', audited.member(memberId));
      return memberResource({ ...member, role });
    },
    [id],
  );
}

/**
 * An owner removes a member, or a member leaves. The sessions in which that user acts for the organization end in the same
 * unit of work, and so do the query tokens and webhooks that the user made in it, and the invitations that the user sent.
 * @throws AppError 403 for a user who is no owner and removes another; 404; 422 for the last owner
 */
export async function removeMember(
  deps: HasStore & HasClock,
  actor: SignedIn,
  id: string,
  memberId: string,
): Promise<void> {
  const { userId } = actor;
  await writeAs(
    deps,
    actor,
    async (tx) => {
      const { role } = await memberOf(tx, id, userId);
      if (role !== 'owner' && memberId !== userId) {
        throw forbidden('Only an owner of the organization may do this');
      }
      const member = await findMember(tx, id, memberId);
      if (member === null) throw notFound('Member');
      await requireOtherOwner(tx, id, member);
      const now = deps.clock();
      const by = byActor(actor);
      await endSessionsIn(tx, id, memberId, now);
      if (member.role === 'owner') await endInvitationsOf(tx, id, memberId, by, now);
      await endWhatUserMade(tx, id, memberId, now);
      await deleteMember(tx, id, memberId);
      await auditFor(tx, id, by, now, 'member.removed', audited.member(memberId));
    },
    [id],
  );
}

async function requireOtherOwner(tx: Tx, id: string, member: MemberRow): Promise<void> {
  if (member.role !== 'owner') return;
  if ((await countOtherOwners(tx, id, member.user_id)) === 0) throw invalid(LAST_OWNER);
}

/**
 * Closes an organization: nobody finds it, no session or API key of it counts, and its webhooks send nothing more. Later units delete
 * its namespaces and at last itself (`namespaces/deletion.ts`), as with the account of a user.
 * @throws AppError 403 for a user who is no owner, or with a suspended namespace; 404
 */
export async function deleteOrganization(
  deps: HasStore & HasClock,
  actor: SignedIn,
  id: string,
): Promise<void> {
  const { userId } = actor;
  await writeAs(
    deps,
    actor,
    async (tx) => {
      const organization = await ownedBy(tx, id, userId);
      // Its name would be free again: the suspension could be ended so.
      if (await hasSuspendedNamespace(tx, id)) throw namespaceSuspended();
      const now = deps.clock();
      await close(tx, id, now);
      // The log of the organization goes with it.
      const object = audited.organization(organization);
      await auditFor(tx, userId, byActor(actor), now, 'organization.deleted', object);
    },
    [id],
  );
}

/** The unit holds the row of the organization. */
async function close(tx: Tx, id: string, now: number): Promise<void> {
  await endSessionsIn(tx, id, null, now);
  await closeWebhooks(tx, id);
  await closeCustomer(tx, id);
  markWork(tx, 'deletions');
}

/**
 * For the operator, also with suspended namespaces, as `deleteAccount`. Each owner finds it in the log of their account.
 * @throws AppError 404
 */
export async function dissolveOrganization({ store, clock }: HasStore & HasClock, id: string): Promise<void> {
  await store.write(async (tx) => {
    const [organization] = await allOrganizations(tx, id);
    if (organization === undefined || !(await lockCustomer(tx, id))) throw notFound('Organization');
    const now = clock();
    await close(tx, id, now);
    const object = audited.organization(organization);
    for (const { user_id: member, role } of await listMembers(tx, id)) {
      if (role === 'owner') await auditFor(tx, member, BY_OPERATOR, now, 'organization.deleted', object);
    }
  });
}

interface OrganizationListing {
  readonly id: string;
  readonly name: string;
  readonly tier: Tier;
  readonly records_count: number;
  readonly members_count: number;
  /** Mail address of the owner who has belonged to it for longest. */
  readonly owner: string;
  readonly created_at: string;
}

/** For the operator. Oldest first. */
export async function listAllOrganizations({ store }: HasStore): Promise<OrganizationListing[]> {
  const rows = await allOrganizations(store.read);
  return rows.map((row) => ({ ...row, created_at: formatTime(row.created_at) }));
}

/** For the operator. Works like `setTier` does for the account of a user. @throws AppError 404 */
export async function setOrganizationTier(
  { store, clock }: HasStore & HasClock,
  id: string,
  tier: Tier,
): Promise<void> {
  await store.write(async (tx) => {
    const [organization] = await allOrganizations(tx, id);
    if (organization === undefined) throw notFound('Organization');
    await lockCustomer(tx, id);
    await updateTier(tx, id, tier);
    const now = clock();
    await pauseWebhooksAbove(tx, id, TIERS[tier].webhooks, now);
    await auditFor(tx, id, BY_OPERATOR, now, 'operator.tier', audited.organization(organization));
  });
}
