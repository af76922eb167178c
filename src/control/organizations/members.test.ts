import assert from 'node:assert/strict';
import { setTimeout as sleep } from 'node:timers/promises';
import {
  accept,
  actFor,
  invited,
  newMember,
  newOrganization,
} from '../../../test/support/control/organizations/rig.ts';
import { apiScenarios } from '../../../test/support/http/engines.ts';
import { limiterOf, runLoops } from '../../../test/support/http/server-parts.ts';
import { assertFailure, created, type Json, newName, openWorld } from '../../../test/support/http/world.ts';
import { findRows } from '../../../test/support/store/rows.ts';
import { LIMITS } from '../../base/limits.ts';
import { holdSession } from '../../store/accounts.ts';
import { insertQueryToken } from '../../store/query-tokens.ts';
import { setSuspended } from '../namespaces/rules.ts';

const LAST_OWNER = 'The last owner of an organization must stay its owner';
const DAY = 86_400_000;

const rolesOf = (members: readonly Json[]): string[] => members.map(({ role }) => role);

apiScenarios('organizations, members', {
  'an invitation works once, for seven days, for the invited address': async (store) => {
    const world = await openWorld(store);
    const organization = await newOrganization(world);
    const { owner, path } = organization;
    const [person, other] = [await world.customer(), await world.customer()];
    const invitation = created(
      await owner.post(`${path}/invitations`, { invitation: { email: ` ${person.email.toUpperCase()} ` } }),
    );
    assert.deepEqual(invitation, {
      id: invitation.id,
      email: person.email,
      role: 'member',
      expires_at: '2026-01-08T00:00:00.000Z',
      created_at: '2026-01-01T00:00:00.000Z',
    });
    const [{ token, ...mail }] = world.invitations as [(typeof world.invitations)[number]];
    assert.deepEqual(mail, { to: person.email, organization: 'Acme' });
    assert.match(token, /^[0-9a-f]{64}$/);
    const refused = (answer: Awaited<ReturnType<typeof accept>>): void =>
      assertFailure(answer, 404, 'not_found', 'Invitation not found');

    refused(await accept(other, token));
    refused(await accept(person, 'a'.repeat(64)));
    const accepted = await accept(person, token);
    assert.equal(accepted.status, 200, accepted.text);
    assert.equal(accepted.json.role, 'member');
    assert.equal(accepted.json.members_count, 2);
    refused(await accept(person, token));
    assert.deepEqual((await owner.get(`${path}/invitations`)).json, []);

    const early = await invited(world, organization, other.email);
    const again = await invited(world, organization, other.email, 'owner');
    refused(await accept(other, early));
    assert.deepEqual(rolesOf((await owner.get(`${path}/invitations`)).json), ['owner']);
    world.advance(7 * DAY);
    const later = await world.signIn(other);
    refused(await accept(later, again));
    assert.deepEqual((await (await world.signIn(owner)).get(`${path}/invitations`)).json, []);
    await world.close();
  },

  'an invitation works until the last millisecond, and not after it was withdrawn': async (store) => {
    const world = await openWorld(store);
    const organization = await newOrganization(world);
    const { owner, path } = organization;
    const [person, other] = [await world.customer(), await world.customer()];
    const token = await invited(world, organization, person.email);
    const withdrawn = await invited(world, organization, other.email);
    const { json } = await owner.get(`${path}/invitations`);
    const { id } = json.find(({ email }: Json) => email === other.email);
    assert.equal((await owner.del(`${path}/invitations/${id}`)).status, 204);
    assertFailure(await accept(other, withdrawn), 404, 'not_found', 'Invitation not found');
    world.advance(7 * DAY - 1);
    assert.equal((await accept(await world.signIn(person), token)).status, 200);
    await world.close();
  },

  'of two acceptances at once one is done': async (store) => {
    const world = await openWorld(store);
    const organization = await newOrganization(world);
    const person = await world.customer();
    const token = await invited(world, organization, person.email);
    const answers = await Promise.all([accept(person, token), accept(person, token)]);
    assert.deepEqual(
      answers.map(({ status }) => status).sort((a, b) => a - b),
      [200, 404],
    );
    await world.close();
  },

  'a member is not invited again, and a wrong address is refused': async (store) => {
    const world = await openWorld(store);
    const organization = await newOrganization(world);
    const { owner, path } = organization;
    const body = { invitation: { email: owner.email } };
    assertFailure(await owner.post(`${path}/invitations`, body), 422, 'validation_error', [
      'email is that of a member',
    ]);
    assert.equal(world.invitations.length, 0);
    await world.close();
  },

  'members and invitations together are at most 100, and a user invites 20 an hour': async (store) => {
    const world = await openWorld(store);
    const { owner, path } = await newOrganization(world);
    const invite = (at: string, caller = owner) =>
      caller.post(`${path}/invitations`, { invitation: { email: `${at}@example.com` } });
    for (let i = 1; i < LIMITS.membersPerOrganization; i++) created(await invite(`a${i}`));
    const full = 'Member limit of the organization reached';
    assertFailure(await invite('more'), 422, 'quota_exceeded', full);
    assert.equal(world.invitations.length, LIMITS.membersPerOrganization - 1);
    created(await invite('a1'));
    await world.close();

    const limited = await openWorld(store, { limiter: limiterOf });
    const other = await newOrganization(limited);
    const post = (i: number) =>
      other.owner.post(`${other.path}/invitations`, { invitation: { email: `a${i}@example.com` } });
    for (let i = 0; i < LIMITS.invitationsPerHour; i++) created(await post(i));
    assertFailure(await post(99), 429, 'rate_limit_exceeded', 'Rate limit exceeded');
    await limited.close();
  },

  'the last owner cannot leave or be demoted, also not two owners at once': async (store) => {
    const world = await openWorld(store);
    const organization = await newOrganization(world);
    const { owner, path } = organization;
    const own = `${path}/members/${owner.id}`;
    const demotion = { member: { role: 'member' } };
    assertFailure(await owner.del(own), 422, 'validation_error', [LAST_OWNER]);
    assertFailure(await owner.patch(own, demotion), 422, 'validation_error', [LAST_OWNER]);

    const { person } = await newMember(world, organization);
    assertFailure(await owner.del(own), 422, 'validation_error', [LAST_OWNER]);
    const raised = await owner.patch(`${path}/members/${person.id}`, { member: { role: 'owner' } });
    assert.deepEqual(raised.json, { ...raised.json, user_id: person.id, email: person.email, role: 'owner' });
    const answers = await Promise.all([owner.del(own), person.del(`${path}/members/${person.id}`)]);
    assert.deepEqual(
      answers.map(({ status }) => status).sort((a, b) => a - b),
      [204, 422],
    );
    const left = answers[0].status === 422 ? owner : person;
    assert.deepEqual(rolesOf((await left.get(`${path}/members`)).json), ['owner']);
    await world.close();
  },

  "a member who is removed or leaves loses the organization's sessions at once, and no others": async (
    store,
  ) => {
    const world = await openWorld(store);
    const organization = await newOrganization(world);
    const { owner, path } = organization;
    for (const leaves of [false, true]) {
      const { person, session } = await newMember(world, organization);
      assert.equal((await session.get('/me')).status, 200);
      const by = leaves ? person : owner;
      assert.equal((await by.del(`${path}/members/${person.id}`)).status, 204);
      for (const answer of [await session.get('/me'), await session.get('/records')]) {
        assertFailure(answer, 401, 'authentication_error', 'Credentials are not valid');
      }
      assert.equal((await person.get('/me')).status, 200);
      assertFailure(await person.get(path), 404, 'not_found', 'Organization not found');
      const back = await person.post('/auth/organization', { organization_id: organization.id });
      assertFailure(back, 404, 'not_found', 'Organization not found');
      // A new membership does not bring the old session back.
      assert.equal((await accept(person, await invited(world, organization, person.email))).status, 200);
      assert.equal((await session.get('/me')).status, 401);
    }
    await world.close();
  },

  'a session that ends with the membership or the organization takes its query tokens along': async (
    store,
  ) => {
    const world = await openWorld(store);
    const organization = await newOrganization(world);
    const { owner, path } = organization;
    const { person } = await newMember(world, organization);
    const { id } = await person.namespace();
    const tokens = `/namespaces/${id}/query_tokens`;
    const live = async (): Promise<string[]> =>
      (await person.get(tokens)).json.flatMap((token: Json) =>
        token.revoked_at === null ? [token.name] : [],
      );
    const page = async (name: string): Promise<void> => {
      const session = await world.signIn(person);
      created(await session.post(tokens, { name, session: true }));
      await actFor(session, organization.id);
    };
    created(await person.post(tokens, { name: 'other session', session: true }));
    await page('removed');
    assert.deepEqual((await live()).toSorted(), ['other session', 'removed']);
    assert.equal((await owner.del(`${path}/members/${person.id}`)).status, 204);
    assert.deepEqual(await live(), ['other session']);
    assert.equal((await accept(person, await invited(world, organization, person.email))).status, 200);
    await page('deleted');
    assert.equal((await owner.del(path)).status, 204);
    assert.deepEqual(await live(), ['other session']);
    await runLoops(store, () => world.now());
    await world.close();
  },

  'a removal waits for a mint that holds a session of the member, and ends its token': async (store) => {
    const world = await openWorld(store);
    const organization = await newOrganization(world);
    const { person, session } = await newMember(world, organization);
    const { id: namespaceId } = await person.namespace();
    const { id: sessionId } = (await session.get('/sessions')).json.find(({ current }: Json) => current);
    const [held, going] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    const now = world.now();
    const minted = store.write(async (tx) => {
      const expiresAt = await holdSession(tx, sessionId, now);
      held.resolve();
      await going.promise;
      await insertQueryToken(tx, {
        id: world.deps.newId(),
        namespace_id: namespaceId,
        name: 'late',
        digest: 'a'.repeat(64),
        expires_at: expiresAt ?? 0,
        revoked_at: null,
        created_at: now,
        created_by: person.id,
        session_id: sessionId,
      });
    });
    await held.promise;
    const removed = organization.owner.del(`${organization.path}/members/${person.id}`);
    // Long enough for a removal that does not wait.
    await Promise.race([removed, sleep(300)]);
    going.resolve();
    await minted;
    assert.equal((await removed).status, 204);
    const [token] = (await person.get(`/namespaces/${namespaceId}/query_tokens`)).json;
    assert.notEqual(token.revoked_at, null);
    await world.close();
  },

  'a member who loses the role of owner loses its rights with the next request': async (store) => {
    const world = await openWorld(store);
    const organization = await newOrganization(world);
    const { person, session } = await newMember(world, organization, 'owner');
    const { id } = created(await session.post('/api_keys', { api_key: { name: 'key' } }));
    const demotion = { member: { role: 'member' } };
    const at = `${organization.path}/members/${person.id}`;
    assert.equal((await organization.owner.patch(at, demotion)).status, 200);
    assert.equal((await session.del(`/api_keys/${id}`)).status, 403);
    assert.equal((await session.get('/api_keys')).status, 200);
    await world.close();
  },

  'a removal and a switch at once leave no session in the organization': async (store) => {
    const world = await openWorld(store);
    const organization = await newOrganization(world);
    for (let i = 0; i < 5; i++) {
      const { person } = await newMember(world, organization);
      const session = await world.signIn(person);
      await Promise.all([
        session.post('/auth/organization', { organization_id: organization.id }),
        organization.owner.del(`${organization.path}/members/${person.id}`),
      ]);
      const me = await session.get('/me');
      assert.ok(me.status === 401 || me.json.organization === undefined, me.text);
    }
    await world.close();
  },

  'a deleted organization takes everything with it, and nothing else': async (store) => {
    const world = await openWorld(store);
    const organization = await newOrganization(world);
    const { owner, asOwner, path } = organization;
    const { person, session } = await newMember(world, organization);
    const guest = await world.customer();
    const token = await invited(world, organization, guest.email);
    const namespace = created(await session.post('/namespaces', { namespace: { name: newName() } }));
    created(await session.post('/records', { record: { key: `a.${namespace.name}.v1`, data: 'aGk=' } }));
    const key = world.caller(created(await asOwner.post('/api_keys', { api_key: { name: 'k' } })).token);
    const own = created(await person.post('/namespaces', { namespace: { name: newName() } }));

    assert.equal((await asOwner.del(path)).status, 204);
    for (const caller of [asOwner, session, key]) assert.equal((await caller.get('/namespaces')).status, 401);
    assert.equal((await accept(guest, token)).status, 404);
    for (const caller of [owner, person]) {
      assertFailure(await caller.get(path), 404, 'not_found', 'Organization not found');
      assert.deepEqual((await caller.get('/organizations')).json, []);
    }
    await runLoops(store, () => world.now());
    assert.deepEqual((await person.get('/namespaces')).json, [own]);
    created(await guest.post('/namespaces', { namespace: { name: namespace.name } }));
    const rows = await findRows(store.read, 'customers', { columns: ['id'], where: { id: organization.id } });
    assert.deepEqual(rows, []);
    await world.close();
  },

  'an organization with a suspended namespace is not deleted': async (store) => {
    const world = await openWorld(store);
    const { asOwner, owner, path } = await newOrganization(world);
    const { name } = created(await asOwner.post('/namespaces', { namespace: { name: newName() } }));
    await setSuspended(world.deps, name, true);
    assertFailure(await owner.del(path), 403, 'authorization_error', 'Namespace is suspended');
    await setSuspended(world.deps, name, false);
    assert.equal((await owner.del(path)).status, 204);
    await runLoops(store, () => world.now());
    await world.close();
  },

  'a session of one organization manages the others that its user owns': async (store) => {
    const world = await openWorld(store);
    const first = await newOrganization(world);
    const second = created(await first.asOwner.post('/organizations', { organization: { name: 'Second' } }));
    assert.equal((await first.asOwner.get('/organizations')).json.length, 2);
    await actFor(first.asOwner, second.id);
    assert.equal((await first.asOwner.get('/me')).json.organization.name, 'Second');
    await world.close();
  },
});
