import assert from 'node:assert/strict';
import { actFor, newMember, newOrganization } from '../../../test/support/control/organizations/rig.ts';
import { apiScenarios } from '../../../test/support/http/engines.ts';
import { assertFailure, type Caller, created, newName, openWorld } from '../../../test/support/http/world.ts';
import { LIMITS } from '../../base/limits.ts';
import { listAllOrganizations, setOrganizationTier } from './rules.ts';

const OWNERS_ONLY = 'Only an owner of the organization may do this';
const SESSION_ONLY = 'API keys cannot use this endpoint; a customer token is required';

/** Every request of the organization's paths. @param id of an organization. @param other ids below it */
function everyRequest(id: string, member: string, invitation: string) {
  const path = `/organizations/${id}`;
  return [
    ['GET', path, undefined, 'member'],
    ['PATCH', path, { organization: { name: 'x' } }, 'owner'],
    ['DELETE', path, undefined, 'owner'],
    ['GET', `${path}/members`, undefined, 'member'],
    ['PATCH', `${path}/members/${member}`, { member: { role: 'owner' } }, 'owner'],
    ['DELETE', `${path}/members/${member}`, undefined, 'owner'],
    ['POST', `${path}/invitations`, { invitation: { email: 'x@example.com' } }, 'owner'],
    ['GET', `${path}/invitations`, undefined, 'owner'],
    ['DELETE', `${path}/invitations/${invitation}`, undefined, 'owner'],
    ['POST', '/auth/organization', { organization_id: id }, 'member'],
  ] as const;
}

apiScenarios('organizations', {
  'an organization is created, listed, renamed and acted for': async (store) => {
    const world = await openWorld(store);
    const owner = await world.customer();
    const answer = await owner.post('/organizations', { organization: { name: 'Acme' } });
    const organization = created(answer);
    assert.deepEqual(organization, {
      id: organization.id,
      name: 'Acme',
      role: 'owner',
      tier: 'free',
      members_count: 1,
      created_at: '2026-01-01T00:00:00.000Z',
    });
    assert.match(String(answer.headers.location), new RegExp(`/organizations/${organization.id}$`));
    assert.deepEqual((await owner.get('/organizations')).json, [organization]);
    const renamed = await owner.patch(`/organizations/${organization.id}`, {
      organization: { name: 'Acme Ltd' },
    });
    assert.deepEqual(renamed.json, { ...organization, name: 'Acme Ltd' });
    assert.deepEqual((await owner.get(`/organizations/${organization.id}`)).json, renamed.json);

    const before = (await owner.get('/me')).json;
    assert.equal('organization' in before, false);
    assert.deepEqual(await actFor(owner, organization.id), renamed.json);
    const { organization: active, ...me } = (await owner.get('/me')).json;
    assert.deepEqual(active, { id: organization.id, name: 'Acme Ltd', role: 'owner' });
    assert.equal(me.id, owner.id);
    assert.equal(await actFor(owner, null), null);
    assert.deepEqual((await owner.get('/me')).json, before);
    await world.close();
  },

  'what is made in an organization belongs to it': async (store) => {
    const world = await openWorld(store);
    const organization = await newOrganization(world);
    const { owner, asOwner } = organization;
    const { session: member } = await newMember(world, organization);
    const name = newName();
    const { id } = created(await asOwner.post('/namespaces', { namespace: { name } }));
    const { token } = created(await asOwner.post('/api_keys', { api_key: { name: 'deploy' } }));
    const key = world.caller(token);

    const body = { record: { key: `a.${name}.v1`, data: 'aGk=' } };
    const record = created(await member.post('/records', body));
    for (const caller of [asOwner, member, key]) {
      assert.equal((await caller.get(`/records/${record.id}`)).status, 200);
      assert.deepEqual(
        (await caller.get('/namespaces')).json.map((it: { id: string }) => it.id),
        [id],
      );
    }
    created(await member.post(`/namespaces/${id}/query_tokens`, { name: 'office' }));
    // The same person acts for their own account: nothing of the organization is there.
    assert.deepEqual((await owner.get('/namespaces')).json, []);
    assertFailure(await owner.get(`/records/${record.id}`), 404, 'not_found', 'Record not found');
    assert.equal((await member.get('/me')).json.records_count, 1);
    assert.equal((await owner.get('/me')).json.records_count, 0);
    await world.close();
  },

  'members read and write, and do not manage': async (store) => {
    const world = await openWorld(store);
    const organization = await newOrganization(world);
    const { asOwner, owner } = organization;
    const { session, person } = await newMember(world, organization);
    const { id } = created(await asOwner.post('/api_keys', { api_key: { name: 'deploy' } }));
    const requests = [
      ...everyRequest(organization.id, owner.id, id).filter(([, , , role]) => role === 'owner'),
      ['POST', '/api_keys', { api_key: { name: 'mine' } }],
      ['DELETE', `/api_keys/${id}`, undefined],
      // Nobody raises their own role.
      ['PATCH', `${organization.path}/members/${person.id}`, { member: { role: 'owner' } }],
    ] as const;
    for (const caller of [session, person]) {
      for (const [method, path, body] of requests) {
        if (caller === person && path.startsWith('/api_keys')) continue;
        assertFailure(await caller.send(method, path, body), 403, 'authorization_error', OWNERS_ONLY);
      }
    }
    assert.equal((await session.get('/api_keys')).json.length, 1);
    // Fields that say who one is are not fields of any body.
    const raised = { invitation: { email: 'x@example.com', customer_id: person.id, digest: 'x' } };
    assertFailure(await owner.post(`${organization.path}/invitations`, raised), 422, 'validation_error', [
      'customer_id is not a known field',
      'digest is not a known field',
    ]);
    const named = { organization: { name: 'x', tier: 'enterprise', id: person.id } };
    assertFailure(await owner.post('/organizations', named), 422, 'validation_error', [
      'tier is not a known field',
      'id is not a known field',
    ]);
    await world.close();
  },

  'another organization does not exist for those who do not belong to it': async (store) => {
    const world = await openWorld(store);
    const organization = await newOrganization(world);
    const { id: invitation } = created(
      await organization.owner.post(`${organization.path}/invitations`, {
        invitation: { email: 'waiting@example.com' },
      }),
    );
    const stranger = await newOrganization(world, 'Other');
    const missing = world.deps.newId();
    for (const caller of [stranger.owner, stranger.asOwner]) {
      for (const [method, path, body] of everyRequest(organization.id, organization.owner.id, invitation)) {
        const answer = await caller.send(method, path, body);
        assertFailure(answer, 404, 'not_found', 'Organization not found');
      }
      for (const [method, path, body] of everyRequest(missing, missing, missing)) {
        assertFailure(await caller.send(method, path, body), 404, 'not_found', 'Organization not found');
      }
    }
    // A customer without a name is the account of one user, not an organization.
    for (const [method, path, body] of everyRequest(stranger.owner.id, stranger.owner.id, missing)) {
      assertFailure(
        await stranger.owner.send(method, path, body),
        404,
        'not_found',
        'Organization not found',
      );
    }
    // Ids of another organization below one's own.
    const own = stranger.path;
    const role = { member: { role: 'member' } };
    for (const [method, path, body, what] of [
      ['PATCH', `${own}/members/${organization.owner.id}`, role, 'Member'],
      ['DELETE', `${own}/members/${organization.owner.id}`, undefined, 'Member'],
      ['DELETE', `${own}/invitations/${invitation}`, undefined, 'Invitation'],
    ] as const) {
      assertFailure(await stranger.owner.send(method, path, body), 404, 'not_found', `${what} not found`);
    }
    assert.equal((await organization.owner.get(`${organization.path}/invitations`)).json.length, 1);
    await world.close();
  },

  'API keys manage no organization, whatever it is': async (store) => {
    const world = await openWorld(store);
    const organization = await newOrganization(world);
    const { token } = created(await organization.asOwner.post('/api_keys', { api_key: { name: 'key' } }));
    const key = world.caller(token);
    const requests = [
      ...everyRequest(organization.id, organization.owner.id, organization.id),
      ['GET', '/organizations', undefined],
      ['POST', '/organizations', { organization: { name: 'x' } }],
      ['POST', '/invitations/accept', { token: 'a'.repeat(64) }],
    ] as const;
    for (const [method, path, body] of requests) {
      assertFailure(await key.send(method, path, body), 403, 'authorization_error', SESSION_ONLY);
    }
    await world.close();
  },

  'a repeated POST gives nobody the answer of another member': async (store) => {
    const world = await openWorld(store);
    const organization = await newOrganization(world);
    const { session } = await newMember(world, organization, 'owner');
    const post = (caller: Caller) =>
      caller.send('POST', '/api_keys', { api_key: { name: 'key' } }, { 'idempotency-key': 'k' });
    const first = created(await post(organization.asOwner));
    assert.deepEqual(created(await post(organization.asOwner)), first);
    const second = created(await post(session));
    assert.notEqual(second.token, first.token);
    await world.close();
  },

  'the operator lists organizations and sets their tiers, not those of accounts': async (store) => {
    const world = await openWorld(store);
    const { id, owner } = await newOrganization(world, 'Tiered');
    const listed = async () => (await listAllOrganizations(world.deps)).find((it) => it.id === id);
    assert.deepEqual(await listed(), {
      id,
      name: 'Tiered',
      tier: 'free',
      records_count: 0,
      members_count: 1,
      owner: owner.email,
      created_at: '2026-01-01T00:00:00.000Z',
    });
    await setOrganizationTier(world.deps, id, 'team');
    assert.equal((await listed())?.tier, 'team');
    await assert.rejects(setOrganizationTier(world.deps, owner.id, 'team'), { code: 'not_found' });
    await world.close();
  },

  'a user belongs to at most 20 organizations': async (store) => {
    const world = await openWorld(store);
    const owner = await world.customer();
    const body = { organization: { name: 'Acme' } };
    for (let i = 0; i < LIMITS.organizationsPerUser; i++) created(await owner.post('/organizations', body));
    const full = 'Organization limit of the account reached';
    assertFailure(await owner.post('/organizations', body), 422, 'quota_exceeded', full);
    await world.close();
  },

  'bodies are checked': async (store) => {
    const world = await openWorld(store);
    const { owner, path, id } = await newOrganization(world);
    for (const [at, body, message] of [
      ['/organizations', { organization: {} }, 'name is required'],
      [
        '/organizations',
        { organization: { name: 'x'.repeat(101) } },
        'name must have at most 100 characters',
      ],
      [`${path}/invitations`, { invitation: { email: 'nobody' } }, 'email is not an email address'],
      [
        `${path}/invitations`,
        { invitation: { email: 'a@example.com', role: 'admin' } },
        'role must be owner or member',
      ],
      ['/invitations/accept', { token: 'x' }, 'token is not the token of an invitation'],
      ['/auth/organization', {}, 'organization_id is required'],
      ['/auth/organization', { organization_id: 'x' }, 'organization_id must be an id or null'],
    ] as const) {
      assertFailure(await owner.post(at, body), 422, 'validation_error', [message]);
    }
    assert.equal((await actFor(owner, id.toUpperCase())).id, id);
    await world.close();
  },

  'without organizations their paths do not exist': async (store) => {
    const world = await openWorld(store, { organizations: false });
    const customer = await world.customer();
    for (const [method, path, body] of [
      ...everyRequest(customer.id, customer.id, customer.id),
      ['GET', '/organizations', undefined],
      ['POST', '/organizations', { organization: { name: 'x' } }],
      ['POST', '/invitations/accept', { token: 'a'.repeat(64) }],
    ] as const) {
      assertFailure(await customer.send(method, path, body), 404, 'not_found', 'Route not found');
    }
    await world.close();
  },

  'once organizations are off, a session that acts for one does not count; own sessions, keys and data stay':
    async (store) => {
      const [on, off] = [await openWorld(store), await openWorld(store, { organizations: false })];
      const { asOwner, owner, id } = await newOrganization(on);
      const { session, person } = await newMember(on, {
        id,
        owner,
        asOwner,
        name: 'Acme',
        path: `/organizations/${id}`,
      });
      const { name } = created(await asOwner.post('/namespaces', { namespace: { name: newName() } }));
      const key = created(await asOwner.post('/api_keys', { api_key: { name: 'key' } }));
      for (const { token } of [asOwner, session]) {
        assert.equal((await on.caller(token).get('/me')).json.organization.id, id);
        for (const [method, path] of [
          ['GET', '/me'],
          ['GET', '/records'],
          ['POST', '/namespaces'],
          ['GET', '/query_logs/stream'],
        ] as const) {
          const answer = await off.caller(token).send(method, path);
          assertFailure(answer, 401, 'authentication_error', 'Credentials are not valid');
        }
      }
      for (const { token, email } of [owner, person]) {
        const { json } = await off.caller(token).get('/me');
        assert.deepEqual([json.email, json.namespaces_count, json.organization], [email, 0, undefined]);
      }
      const listed = (await off.caller(key.token).get('/namespaces')).json;
      assert.deepEqual(
        listed.map((one: { name: string }) => one.name),
        [name],
      );
      // Switched on again, what is left of the twelve hours counts.
      assert.equal((await on.caller(asOwner.token).get('/me')).status, 200);
      await on.close();
      await off.close();
    },
});
