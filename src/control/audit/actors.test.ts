import assert from 'node:assert/strict';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { createManualTimers } from '../../../test/support/base/lifecycle/manual-timers.ts';
import { newEmail, verify } from '../../../test/support/control/accounts/sign-in-rig.ts';
import { newMember, newOrganization } from '../../../test/support/control/organizations/rig.ts';
import { softwareAuthenticator } from '../../../test/support/control/passkeys/authenticator.ts';
import { register, signIn } from '../../../test/support/control/passkeys/rig.ts';
import { apiScenarios } from '../../../test/support/http/engines.ts';
import { type Customer, created, openWorld, type World } from '../../../test/support/http/world.ts';
import { findRows } from '../../../test/support/store/rows.ts';
import { LIMITS } from '../../base/limits.ts';
import type { AuditAction } from '../../protocol/audit.ts';
import { type AuditRow, DELETED_USER } from '../../store/audit.ts';
import type { Store } from '../../store/store.ts';
import { deleteAccount, endSessionsOf, issueToken, setTier } from '../accounts/rules.ts';
import { customerActor, ownerActor, setPublicRead, setSuspended } from '../namespaces/rules.ts';
import { dissolveOrganization, setOrganizationTier } from '../organizations/rules.ts';
import { writeBulk } from '../records/bulk.ts';
import { sweepExpired } from '../records/expiry.ts';
import { auditForOperator } from './operator.ts';

/** What the operator does at the command line, and the row it leaves. */
const COMMANDS: Readonly<
  Record<string, readonly [AuditAction, (world: World, customer: Customer) => Promise<unknown>]>
> = {
  'user token': ['sign_in.done', ({ deps }, { email }) => issueToken(deps, email)],
  'user sessions --end': ['session.ended', ({ deps }, { email }) => endSessionsOf(deps, email)],
  'user tier': ['operator.tier', ({ deps }, { email }) => setTier(deps, email, 'team')],
  'user delete': ['operator.user_deleted', ({ deps }, { email }) => deleteAccount(deps, email)],
  'organization delete': [
    'organization.deleted',
    async ({ deps }, customer) => {
      const body = { organization: { name: 'Acme' } };
      await dissolveOrganization(deps, created(await customer.post('/organizations', body)).id);
    },
  ],
  'namespace public-read': [
    'operator.public_read',
    async ({ deps }, customer) => setPublicRead(deps, (await customer.namespace()).name, true),
  ],
  'namespace suspend': [
    'operator.suspended',
    async ({ deps }, customer) => setSuspended(deps, (await customer.namespace()).name, true),
  ],
  put: [
    'record.bulk',
    async ({ deps }, customer) => {
      const { name } = await customer.namespace();
      await writeBulk(deps, await ownerActor(deps, name), { records: [{ key: `a.${name}.v1`, data: '' }] });
    },
  ],
};

async function rowsOf(store: Store, customerId: string): Promise<AuditRow[]> {
  return findRows(store.read, 'audit_log', { where: { customer_id: customerId }, order: 'at, id' });
}

const HOUR = 3_600_000;

apiScenarios('actors of the audit log', {
  'the operator leaves a row with each command': async (store) => {
    const world = await openWorld(store);
    for (const [name, [action, run]] of Object.entries(COMMANDS)) {
      const customer = await world.customer();
      world.advance(1);
      await run(world, customer);
      const last = (await rowsOf(store, customer.id)).at(-1)!;
      assert.deepEqual(
        [last.action, last.actor_kind, last.actor_id, last.actor_name, last.request_id],
        [action, 'operator', null, null, null],
        name,
      );
    }
    const owner = await world.customer();
    const { name } = await owner.namespace();
    const switches = [
      [setPublicRead, true],
      [setPublicRead, false],
      [setSuspended, true],
      [setSuspended, false],
    ] as const;
    for (const [set, on] of switches) {
      world.advance(1);
      await set(world.deps, name, on);
    }
    const { json } = await owner.get('/audit?action=operator.*');
    const shown = json.audit.map(({ action, object }: { action: string; object: unknown }) => [
      action,
      object,
    ]);
    const object = shown.at(-1)[1];
    assert.deepEqual(object, {
      kind: 'namespace',
      id: object.id,
      name,
      namespace: name,
      count: null,
      on: true,
    });
    assert.deepEqual(
      shown.map(([action, { on }]: [string, { on: boolean }]) => `${action} ${on}`),
      [
        'operator.suspended false',
        'operator.suspended true',
        'operator.public_read false',
        'operator.public_read true',
      ],
    );
    const seen = await auditForOperator(world.deps, owner.email, { filters: {}, limit: 2, withNames: false });
    assert.deepEqual(
      seen.map((row) => row.object.on),
      [undefined, false],
      'the look itself, and the last switch',
    );
    const look = { filters: {}, limit: 8 };
    const namesShown = async (withNames: boolean) =>
      (await auditForOperator(world.deps, owner.email, { ...look, withNames })).map(({ object }) => [
        object.name,
        object.namespace,
      ]);
    assert.deepEqual(await namesShown(false), Array(8).fill([null, null]));
    assert.ok((await namesShown(true)).some(([own, home]) => own === name && home === name));
    const { id } = await newOrganization(world);
    world.advance(1);
    await setOrganizationTier(world.deps, id, 'pro');
    const tier = (await rowsOf(store, id)).at(-1)!;
    assert.deepEqual(
      [tier.action, tier.object_kind, tier.object_name],
      ['operator.tier', 'organization', 'Acme'],
    );
    await world.close();
  },

  'records that expire leave a row of the system for each namespace': async (store) => {
    const world = await openWorld(store);
    const customer = await world.customer();
    const [one, two] = [await customer.namespace(), await customer.namespace()];
    for (const key of [`a.${one.name}.v1`, `b.${one.name}.v1`, `a.${two.name}.v1`]) {
      await customer.record(key, { expires_in: 60 });
    }
    world.advance(61_000);
    await sweepExpired(store, world.now(), 500);
    const { json } = await customer.get('/audit?actor=system');
    const shown = json.audit.map(
      ({ action, object }: { action: string; object: AuditRow & { name: string } }) => [
        action,
        object.namespace,
        object.name,
        object.count,
      ],
    );
    const wanted = [
      ['record.deleted', one.name, null, 2],
      ['record.deleted', two.name, `a.${two.name}.v1`, null],
    ];
    assert.deepEqual(new Set(shown), new Set(wanted));
    await world.close();
  },

  'a refused action leaves a row, and beyond 60 in an hour they are counted': async (store) => {
    const world = await openWorld(store);
    const customer = await world.customer();
    const { id, name } = await customer.namespace();
    const record = await customer.record(`a.${name}.v1`);
    const key = await customer.key({ operations: ['read'] });
    const refused = async () => {
      const answer = await key.del(`/records/${record.id}`);
      assert.equal(answer.status, 403);
      return answer.headers['x-request-id'];
    };
    const requestId = await refused();
    assert.equal((await key.get('/api_keys')).status, 403, 'an ordinary read is no action');
    assert.equal((await key.post(`/namespaces/${id}/query_tokens`, { name: 'a' })).status, 403);
    const { json } = await customer.get('/audit?limit=2');
    assert.deepEqual(
      json.audit.map(({ action, outcome }: AuditRow) => [action, outcome]),
      [
        ['query_token.minted', 'refused'],
        ['record.deleted', 'refused'],
      ],
    );
    const { id: _, seq: __, ...row } = json.audit[1];
    assert.deepEqual(row, {
      at: '2026-01-01T00:00:00.000Z',
      request_id: requestId,
      actor: { kind: 'api_key', id: key.id, name: 'key' },
      action: 'record.deleted',
      outcome: 'refused',
      object: { kind: 'record', id: record.id, name: null, namespace: null, count: null },
      etag_before: null,
      etag_after: null,
    });
    const most = LIMITS.auditRefusalsPerHour;
    for (let i = 2; i < most; i++) await refused();
    const ofRefused = async () => {
      await customer.get('/audit');
      return (await rowsOf(store, customer.id)).filter(({ outcome }) => outcome === 'refused');
    };
    assert.equal((await ofRefused()).length, most);
    for (let i = 0; i < 3; i++) await refused();
    await ofRefused();
    for (let i = 0; i < 4; i++) await refused();
    const all = await ofRefused();
    assert.equal(all.length, most + 1);
    const counted = all.filter(({ count }) => count !== null);
    assert.deepEqual(
      counted.map(({ count, actor_kind, action }) => [count, actor_kind, action]),
      [[7, 'system', 'record.deleted']],
    );
    world.advance(HOUR);
    const next = await customer.key({ operations: ['read'] });
    assert.equal((await next.del(`/records/${record.id}`)).status, 403);
    assert.equal((await world.signIn(customer)).token.length > 0, true);
    await world.close();
    assert.equal(
      (await rowsOf(store, customer.id)).filter(({ outcome }) => outcome === 'refused').length,
      most + 2,
    );
  },

  'a member is refused in the log of the organization, a stranger in none but their own': async (store) => {
    const world = await openWorld(store);
    const organization = await newOrganization(world);
    const { person } = await newMember(world, organization);
    assert.equal((await person.del(organization.path)).status, 403);
    const stranger = await world.customer();
    const key = await stranger.key();
    assert.equal((await key.del(organization.path)).status, 403);
    assert.equal((await stranger.del(organization.path)).status, 404);
    await world.close();
    const refused = async (id: string) =>
      (await rowsOf(store, id))
        .filter(({ outcome }) => outcome === 'refused')
        .map(({ actor_id }) => actor_id);
    assert.deepEqual(await refused(organization.id), [person.id]);
    assert.deepEqual(await refused(stranger.id), [key.id]);
    assert.deepEqual(await refused(person.id), []);
  },

  'a sign-in that failed is in the log of the account, if there is one': async (store) => {
    const timers = createManualTimers();
    const world = await openWorld(store, { timers });
    const customer = await world.customer();
    const authenticator = softwareAuthenticator(world.deps.publicUrl());
    await register(customer, authenticator);
    assert.equal((await verify(world, customer.email, '000000')).status, 401);
    assert.equal((await verify(world, newEmail(), '000000')).status, 401);
    assert.equal((await signIn(world, authenticator, { userVerified: false })).status, 401);
    await timers.advance(1_000);
    while ((await rowsOf(store, customer.id)).at(-1)!.action !== 'sign_in.failed') await nextTurn();
    const { json } = await customer.get('/audit?action=sign_in.failed');
    assert.deepEqual(
      json.audit.map(({ actor, outcome, object }: { actor: object; outcome: string; object: object }) => [
        actor,
        outcome,
        object,
      ]),
      Array.from({ length: 2 }, () => [
        { kind: 'user', id: null, name: null },
        'done',
        { kind: null, id: null, name: null, namespace: null, count: null },
      ]),
    );
    await world.close();
  },

  'a stranger who reads their own log does not wait for the row of a sign-in that failed (its time told of accounts)':
    async (store) => {
      const timers = createManualTimers();
      const world = await openWorld(store, { timers });
      const [customer, stranger] = [await world.customer(), await world.customer()];
      const failed = async (): Promise<number> =>
        (await rowsOf(store, customer.id)).filter(({ action }) => action === 'sign_in.failed').length;
      assert.equal((await verify(world, customer.email, '000000')).status, 401);
      assert.equal((await stranger.get('/audit')).status, 200);
      assert.equal((await stranger.get('/audit/export')).status, 200);
      assert.equal(await failed(), 0);
      await world.close();
      assert.equal(await failed(), 1);
    },

  'a deleted user is nobody in what is left': async (store) => {
    const world = await openWorld(store);
    const organization = await newOrganization(world);
    const { person, session } = await newMember(world, organization);
    const name = `ns-${person.id.slice(0, 8)}`;
    assert.equal((await session.post('/namespaces', { namespace: { name } })).status, 201);
    assert.equal((await person.send('DELETE', '/me', { email: person.email })).status, 204);
    const { text, json } = await organization.asOwner.get('/audit?limit=100');
    assert.equal(text.includes(person.email), false);
    const shown = json.audit.map(
      ({ action, actor, object }: { action: string; actor: { name: string }; object: { name: string } }) => [
        action,
        actor.name,
        object.name,
      ],
    );
    assert.deepEqual(shown, [
      ['member.removed', DELETED_USER, DELETED_USER],
      ['namespace.created', DELETED_USER, name],
      ['member.joined', DELETED_USER, DELETED_USER],
      ['member.invited', organization.owner.email, DELETED_USER],
      ['organization.created', organization.owner.email, 'Acme'],
    ]);
    const rows = JSON.stringify(await rowsOf(store, organization.id));
    assert.equal(rows.includes(person.email), false);
    assert.equal(await customerActor(world.deps, person.email), null);
    await world.close();
  },
});
