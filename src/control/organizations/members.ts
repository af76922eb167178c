import { forbidden, invalid, notFound } from '../../base/errors.ts';
import { formatTime } from '../../base/text/time.ts';
import type { JsonObject } from '../../protocol/input/fields.ts';
import type { Tx } from '../../store/store.ts';
import { lockCustomer } from '../../store/tables/customers.ts';
import {
  countOtherOwners,
  deleteMember,
  findMember,
  listMembers,
  type MemberRow,
  setMemberRole,
} from '../../store/tables/organizations.ts';
import { type Actor, requireSession } from '../accounts/actor.ts';
import type { HasClock, HasStore } from '../accounts/deps.ts';
import { endWhatUserMade } from '../accounts/made-by.ts';
import { MEMBER_PATCH, type MemberResource } from './input.ts';
import { lockAsOwner, memberOf } from './organizations.ts';

const LAST_OWNER = 'The last owner of an organization must stay its owner';

function memberResource(row: MemberRow): MemberResource {
  return { user_id: row.user_id, email: row.email, role: row.role, created_at: formatTime(row.created_at) };
}

/** Longest membership first. @throws AppError 403 for an API key, 404 */
export async function listOrganizationMembers(
  { store }: HasStore,
  actor: Actor,
  id: string,
): Promise<MemberResource[]> {
  requireSession(actor);
  await memberOf(store.read, id, actor.userId);
  return (await listMembers(store.read, id)).map(memberResource);
}

/** @throws AppError 403 for an API key or a user who is no owner, 404, 422 for faults or the last owner */
export async function patchMember(
  { store }: HasStore,
  actor: Actor,
  id: string,
  memberId: string,
  body: JsonObject,
): Promise<MemberResource> {
  requireSession(actor);
  const { userId } = actor;
  const { role } = MEMBER_PATCH.parse(body, {});
  return store.write(async (tx) => {
    await lockAsOwner(tx, id, userId);
    const member = await findMember(tx, id, memberId);
    if (member === null) throw notFound('Member');
    if (role !== 'owner') await requireOtherOwner(tx, id, member);
    await setMemberRole(tx, id, memberId, role);
    return memberResource({ ...member, role });
  });
}

/**
 * An owner removes a member, or a member leaves. The sessions in which that user acts for the organization end in the same
 * unit of work, and so do the query tokens and webhooks that the user made in it.
 * @throws AppError 403 for an API key, or a user who is no owner and removes another; 404; 422 for the last owner
 */
export async function removeMember(
  { store, clock }: HasStore & HasClock,
  actor: Actor,
  id: string,
  memberId: string,
): Promise<void> {
  requireSession(actor);
  const { userId } = actor;
  await store.write(async (tx) => {
    await lockCustomer(tx, id);
    const { role } = await memberOf(tx, id, userId);
    if (role !== 'owner' && memberId !== userId) {
      throw forbidden('Only an owner of the organization may do this');
    }
    const member = await findMember(tx, id, memberId);
    if (member === null) throw notFound('Member');
    await requireOtherOwner(tx, id, member);
    const now = clock();
    await endWhatUserMade(tx, id, memberId, now);
    await deleteMember(tx, id, memberId, now);
  });
}

async function requireOtherOwner(tx: Tx, id: string, member: MemberRow): Promise<void> {
  if (member.role !== 'owner') return;
  if ((await countOtherOwners(tx, id, member.user_id)) === 0) throw invalid(LAST_OWNER);
}
