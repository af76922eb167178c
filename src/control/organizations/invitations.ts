import { createHash } from 'node:crypto';
import { AppError, invalid, notFound } from '../../base/errors.ts';
import { LIMITS } from '../../base/limits.ts';
import { formatTime } from '../../base/time.ts';
import type { SignedIn } from '../../http/actor.ts';
import type { JsonObject } from '../../protocol/input/fields.ts';
import { HEX_SECRET, resourceSchema, TIME, UUID } from '../../protocol/input/schema.ts';
import { optional, parsedOf, required, shape } from '../../protocol/input/shape.ts';
import {
  deleteInvitation,
  findInvitation,
  findUserEmail,
  type InvitationRow,
  insertMember,
  listInvitations,
  listMembers,
  putInvitation,
} from '../../store/organizations.ts';
import type { Db } from '../../store/store.ts';
import { writeAs } from '../accounts/membership.ts';
import { normalizeEmail } from '../accounts/rules.ts';
import { audited, auditFor, byActor } from '../audit/actions.ts';
import type { HasClock, HasIds, HasRandom, HasStore, HasUnit } from '../deps.ts';
import {
  EMAIL_SCHEMA,
  memberOf,
  type OrganizationResource,
  organizationResource,
  ownedBy,
  ROLE,
  ROLE_SCHEMA,
  requireRoomOf,
} from './rules.ts';

const TOKEN_TEXT = new RegExp(HEX_SECRET.pattern);
const TOKEN_BYTES = 32;
const VALID_MS = LIMITS.invitationDays * 86_400_000;

/** What the invited person is told. The token is in the mail only. */
export interface InvitationMail {
  readonly to: string;
  readonly organization: string;
  readonly token: string;
}

export interface HasInvitationMail {
  /** Returns at once; the mail is sent afterwards. @param asker the organization whose turn it takes */
  readonly sendInvitation: (mail: InvitationMail, asker: string) => void;
}

type InvitationResource = ReturnType<typeof invitationResource>;

export const INVITATION_SCHEMA = resourceSchema<InvitationResource>('Invitation', {
  id: UUID,
  email: EMAIL_SCHEMA,
  role: ROLE_SCHEMA,
  expires_at: TIME,
  created_at: TIME,
});

const EMAIL = parsedOf(EMAIL_SCHEMA, normalizeEmail, 'is not an email address');

const TOKEN = parsedOf(
  HEX_SECRET,
  (text) => (TOKEN_TEXT.test(text) ? text : null),
  'is not the token of an invitation',
);

export const NEW_INVITATION = shape('NewInvitation', { email: required(EMAIL), role: optional(ROLE) });

export const ACCEPTANCE = shape('InvitationAcceptance', { token: required(TOKEN) });

function invitationResource(row: InvitationRow) {
  return {
    id: row.id,
    email: row.email,
    role: row.role,
    expires_at: formatTime(row.expires_at),
    created_at: formatTime(row.created_at),
  };
}

type InviteDeps = HasStore & HasUnit & HasClock & HasIds & HasRandom & HasInvitationMail;

/**
 * Invites an address, which may have no account. A second invitation of an address replaces the first.
 * @throws AppError 403 for a user who is no owner, 404, 422 for faults, a member, or too many invitations
 */
export async function invite(deps: InviteDeps, actor: SignedIn, id: string, body: JsonObject) {
  const { userId } = actor;
  const { email, role = 'member' } = NEW_INVITATION.parse(body, {});
  const now = deps.clock();
  const token = Buffer.from(deps.random(TOKEN_BYTES)).toString('hex');
  const row: InvitationRow = {
    id: deps.newId(),
    customer_id: id,
    email,
    role,
    digest: digestOf(token),
    expires_at: now + VALID_MS,
    created_at: now,
    invited_by: userId,
  };
  const { name } = await memberOf(deps.store.read, id, userId);
  const invitation = await deps.unit(
    actor,
    async (tx) => {
      await ownedBy(tx, id, userId);
      const members = await listMembers(tx, id);
      if (members.some((member) => member.email === email)) throw invalid('email is that of a member');
      await putInvitation(tx, row);
      const waiting = await listInvitations(tx, id, now);
      requireRoom(members.length + waiting.length - 1);
      await auditFor(tx, id, byActor(actor), now, 'member.invited', audited.invitation(row));
      return invitationResource(row);
    },
    [id],
  );
  deps.sendInvitation({ to: email, organization: name, token }, id);
  return invitation;
}

/** Members and invitations together, so that each invitation can be accepted. */
function requireRoom(taken: number): void {
  if (taken >= LIMITS.membersPerOrganization) {
    throw new AppError('quota_exceeded', 'Member limit of the organization reached');
  }
}

/** Oldest first. @throws AppError 403 for a user who is no owner, 404 */
export async function listOrganizationInvitations(
  { store, clock }: HasStore & HasClock,
  actor: SignedIn,
  id: string,
): Promise<InvitationResource[]> {
  const { userId } = actor;
  await ownedBy(store.read, id, userId);
  return (await listInvitations(store.read, id, clock())).map(invitationResource);
}

/** @throws AppError 403 for a user who is no owner, 404 */
export async function withdrawInvitation(
  deps: HasStore & HasClock,
  actor: SignedIn,
  id: string,
  invitationId: string,
): Promise<void> {
  const { userId } = actor;
  await writeAs(
    deps,
    actor,
    async (tx) => {
      await ownedBy(tx, id, userId);
      const deleted = await deleteInvitation(tx, invitationId, id);
      if (deleted === null) throw notFound('Invitation');
      await auditFor(tx, id, byActor(actor), deps.clock(), 'member.removed', audited.invitation(deleted));
    },
    [id],
  );
}

/**
 * POST /invitations/accept. A token works once, for seven days, for the user with the invited address.
 * @throws AppError 404 for every token that this user cannot accept; 422
 */
export async function acceptInvitation(
  { store, unit, clock }: HasStore & HasUnit & HasClock,
  actor: SignedIn,
  body: JsonObject,
): Promise<OrganizationResource> {
  const { userId } = actor;
  const { token } = ACCEPTANCE.parse(body, {});
  const find = async (db: Db): Promise<InvitationRow | null> => {
    const email = await findUserEmail(db, userId);
    return email === null ? null : findInvitation(db, digestOf(token), email, clock());
  };
  const asked = await find(store.read);
  return unit(
    actor,
    async (tx) => {
      const now = clock();
      // It may have been accepted or withdrawn until the row of the organization was held.
      const found = asked && (await find(tx));
      if (found === null) throw notFound('Invitation');
      const { id, customer_id, role } = found;
      await deleteInvitation(tx, id, customer_id);
      await requireRoomOf(tx, userId);
      await insertMember(tx, { customer_id, user_id: userId, role, created_at: now });
      await auditFor(tx, customer_id, byActor(actor), now, 'member.joined', audited.member(userId));
      return organizationResource(await memberOf(tx, customer_id, userId));
    },
    // Without an invitation too: a repeated request gets the answer of the first.
    asked === null ? [] : [asked.customer_id],
  );
}

function digestOf(token: string): string {
  return createHash('sha256').update(token, 'latin1').digest('hex');
}
