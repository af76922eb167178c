import assert from 'node:assert/strict';
import type { MemberRole } from '../../../../src/store/accounts.ts';
import { type Answer, type Caller, type Customer, created, type Json, type World } from '../../http/world.ts';

/** An organization, and a session of its owner that acts for it. */
export interface Organization {
  readonly id: string;
  readonly name: string;
  readonly path: string;
  /** The owner, still acting for their own account. */
  readonly owner: Customer;
  /** The same person in a session of the organization. */
  readonly asOwner: Caller;
}

export async function newOrganization(world: World, name = 'Acme'): Promise<Organization> {
  const owner = await world.customer();
  const { id } = created(await owner.post('/organizations', { organization: { name } }));
  const asOwner = await world.signIn(owner);
  await actFor(asOwner, id);
  return { id, name, path: `/organizations/${id}`, owner, asOwner };
}

export async function actFor(caller: Caller, id: string | null): Promise<Json> {
  const answer = await caller.post('/auth/organization', { organization_id: id });
  assert.equal(answer.status, 200, answer.text);
  return answer.json.organization;
}

/** Invites an address. @returns the token of the mail */
export async function invited(
  world: World,
  { owner, path }: Organization,
  email: string,
  role: MemberRole = 'member',
): Promise<string> {
  created(await owner.post(`${path}/invitations`, { invitation: { email, role } }));
  const mail = world.invitations.at(-1);
  assert.equal(mail?.to, email);
  return mail.token;
}

export function accept(caller: Caller, token: string): Promise<Answer> {
  return caller.post('/invitations/accept', { token });
}

/** A new customer who is a member too, and a session of theirs that acts for the organization. */
export async function newMember(
  world: World,
  organization: Organization,
  role: MemberRole = 'member',
): Promise<{ readonly person: Customer; readonly session: Caller }> {
  const person = await world.customer();
  const answer = await accept(person, await invited(world, organization, person.email, role));
  assert.equal(answer.status, 200, answer.text);
  const session = await world.signIn(person);
  await actFor(session, organization.id);
  return { person, session };
}
