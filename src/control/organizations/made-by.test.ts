import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import {
  accept,
  invited,
  newMember,
  newOrganization,
  type Organization,
} from '../../../test/support/control/organizations/rig.ts';
import { addDeliveries, setWebhook, storedWebhook } from '../../../test/support/control/webhooks/rows.ts';
import { apiScenarios } from '../../../test/support/http/engines.ts';
import {
  assertFailure,
  type Caller,
  created,
  type Json,
  newName,
  openWorld,
  WEBHOOK,
  type World,
} from '../../../test/support/http/world.ts';
import { findRows, insertRows, query } from '../../../test/support/store/rows.ts';
import { LIMITS } from '../../base/limits.ts';
import type { Actor } from '../../http/actor.ts';
import { deleteAccount } from '../accounts/rules.ts';
import { mintQueryToken } from '../namespaces/query-tokens.ts';
import { setOrganizationTier } from './rules.ts';

const DAY = 86_400_000;
const digestOf = (token: string): string => createHash('sha256').update(token).digest('hex');

/** An organization with webhooks, and two namespaces of it. */
async function paid(world: World): Promise<Organization & { readonly namespaces: readonly Json[] }> {
  const organization = await newOrganization(world);
  await setOrganizationTier(world.deps, organization.id, 'pro');
  const namespaces = [];
  for (let i = 0; i < 2; i++) {
    namespaces.push(
      created(await organization.asOwner.post('/namespaces', { namespace: { name: newName() } })),
    );
  }
  return { ...organization, namespaces };
}

/** The same items in any order. */
const assertSame = (one: readonly unknown[], other: readonly unknown[]): void =>
  assert.deepEqual(
    new Set(one.map((item) => JSON.stringify(item))),
    new Set(other.map((item) => JSON.stringify(item))),
  );

const mint = async (caller: Caller, namespace: Json, more: object = {}): Promise<Json> =>
  created(await caller.post(`/namespaces/${namespace.id}/query_tokens`, { name: 'reader', ...more }));

const tokensOf = async (caller: Caller, namespace: Json): Promise<Json[]> =>
  (await caller.get(`/namespaces/${namespace.id}/query_tokens`)).json;

apiScenarios('organizations, what members made', {
  'query tokens and webhooks say who made them: owners see the address, others the id alone': async (
    store,
  ) => {
    const world = await openWorld(store);
    const { asOwner, owner, ...organization } = await paid(world);
    const { person, session } = await newMember(world, { ...organization, asOwner, owner });
    const key = world.caller(created(await asOwner.post('/api_keys', { api_key: { name: 'k' } })).token);
    const namespace = organization.namespaces[0]!;
    const [made, hooks]: [Json[], Json[]] = [[], []];
    for (const caller of [asOwner, session, key]) {
      made.push(await mint(caller, namespace));
      hooks.push(created(await caller.post('/webhooks', { webhook: WEBHOOK })));
      world.advance(1);
    }
    const forOwner = [
      { user_id: owner.id, email: owner.email },
      { user_id: person.id, email: person.email },
      null,
    ];
    const forOthers = [{ user_id: owner.id, email: null }, { user_id: person.id, email: null }, null];
    const makers = (rows: readonly Json[]): unknown[] => rows.map(({ created_by }) => created_by);
    for (const rows of [made, hooks]) assert.deepEqual(makers(rows), [forOwner[0], forOthers[1], null]);
    for (const [caller, seen] of [
      [asOwner, forOwner],
      [session, forOthers],
      [key, forOthers],
    ] as const) {
      assert.deepEqual(makers(await tokensOf(caller, namespace)), seen);
      assert.deepEqual(makers((await caller.get('/webhooks')).json), seen);
      for (const [i, { id }] of hooks.entries()) {
        assert.deepEqual((await caller.get(`/webhooks/${id}`)).json.created_by, seen[i]);
        const patched = await caller.patch(`/webhooks/${id}`, { webhook: { name: 'n' } });
        assert.deepEqual(patched.json.created_by, seen[i]);
      }
      const renewed = await caller.post(`/webhooks/${hooks[1].id}/regenerate_secret`);
      assert.deepEqual(renewed.json.created_by, seen[1]);
    }
    await world.close();
  },

  'tokens of a member who is removed are revoked until a day after their end: nodes may honour them by other clocks':
    async (store) => {
      for (const [afterEnd, isRevoked] of [
        [1_800_000, true],
        [86_400_000 - 1, true],
        [86_400_000, false],
      ] as const) {
        const world = await openWorld(store);
        const organization = await paid(world);
        const { person, session } = await newMember(world, organization);
        const { token, expires_at } = await mint(session, organization.namespaces[0] as Json);
        const before = (await world.changes()).length;
        world.advance(Date.parse(expires_at) + afterEnd - world.now());
        // Their session has ended by then: the operator deletes the account, which ends the membership.
        await deleteAccount(world.deps, person.email);
        const told = (await world.changes())
          .slice(before)
          .flatMap((change) => (change.type === 'token.revoked' ? [change.digest] : []));
        assert.deepEqual(told, isRevoked ? [digestOf(token)] : [], `${afterEnd} ms`);
        await world.close();
      }
    },

  'a member who is removed, leaves or deletes the account takes query tokens and webhooks along (security finding 8)':
    async (store) => {
      for (const way of ['removed', 'leaves', 'deletes', 'deleted by the operator'] as const) {
        const world = await openWorld(store);
        const organization = await paid(world);
        const { owner, asOwner, path, namespaces } = organization;
        const { person, session } = await newMember(world, organization);
        const other = await newMember(world, organization);
        const [first, second] = namespaces as [Json, Json];
        const kept = [await mint(asOwner, first), await mint(other.session, first)];
        const ended = [await mint(session, first), await mint(session, second)];
        const revoked = await mint(session, first);
        assert.equal((await session.del(`/namespaces/${first.id}/query_tokens/${revoked.id}`)).status, 204);
        const own = created(await person.post('/namespaces', { namespace: { name: newName() } }));
        const ownToken = await mint(person, own);
        const hook = created(await session.post('/webhooks', { webhook: WEBHOOK }));
        const otherHook = created(await other.session.post('/webhooks', { webhook: WEBHOOK }));
        const at = world.now();
        for (const { id } of [hook, otherHook]) {
          await addDeliveries(store, id, 1, () => ({ next_attempt_at: at }));
          await setWebhook(store, id, { next_due_at: at, claim: 'lease' });
        }
        const before = (await world.changes()).length;
        world.advance(1000);
        if (way === 'removed') assert.equal((await owner.del(`${path}/members/${person.id}`)).status, 204);
        if (way === 'leaves') assert.equal((await session.del(`${path}/members/${person.id}`)).status, 204);
        if (way === 'deletes') {
          assert.equal((await person.send('DELETE', '/me', { email: person.email })).status, 204);
        }
        if (way === 'deleted by the operator') await deleteAccount(world.deps, person.email);
        const told = (await world.changes())
          .slice(before)
          .flatMap((change) => (change.type === 'token.revoked' ? [[change.namespace, change.digest]] : []));
        assertSame(told, [
          [first.name, digestOf(ended[0]!.token)],
          [second.name, digestOf(ended[1]!.token)],
        ]);
        // The owner sees which.
        const maker = { user_id: person.id, email: way.startsWith('delete') ? null : person.email };
        const listed = [...(await tokensOf(asOwner, first)), ...(await tokensOf(asOwner, second))];
        const live = listed.filter(({ revoked_at }) => revoked_at === null).map(({ id }) => id);
        assertSame(
          live,
          kept.map(({ id }) => id),
        );
        for (const { id } of ended) {
          const { revoked_at, created_by } = listed.find((token) => token.id === id);
          assert.deepEqual([revoked_at, created_by], ['2026-01-01T00:00:01.000Z', maker]);
        }
        const hooks: Json[] = (await asOwner.get('/webhooks')).json;
        assertSame(
          hooks.map(({ id, enabled }) => [id, enabled]),
          [
            [hook.id, false],
            [otherHook.id, true],
          ],
        );
        assert.deepEqual(hooks.find(({ id }) => id === hook.id).created_by, maker);
        // Nothing is sent: no process may claim it, and one that has it writes nothing.
        const { next_due_at, claim, cleanup } = await storedWebhook(store, hook.id);
        assert.deepEqual([next_due_at, claim, cleanup], [null, null, 'end_waiting']);
        assert.equal((await storedWebhook(store, otherHook.id)).claim, 'lease');
        if (!way.startsWith('delete')) {
          assert.equal((await tokensOf(person, own))[0].revoked_at, null, ownToken.id);
        }
        // An owner takes it over.
        const enabled = await asOwner.patch(`/webhooks/${hook.id}`, { webhook: { enabled: true } });
        assert.equal(enabled.json.enabled, true);
        await world.close();
      }
    },

  'a webhook of another that a member sent elsewhere, or whose secrets the member was shown, rests with the member':
    async (store) => {
      const world = await openWorld(store);
      const organization = await paid(world);
      await setOrganizationTier(world.deps, organization.id, 'team');
      const { owner, asOwner, path } = organization;
      const { person, session } = await newMember(world, organization);
      const hook = async (name: string): Promise<string> =>
        `/webhooks/${created(await asOwner.post('/webhooks', { webhook: { ...WEBHOOK, name } })).id}`;
      const send = async (by: Caller, to: string, url: string): Promise<void> => {
        assert.equal((await by.patch(to, { webhook: { url } })).status, 200);
      };
      const renew = async (by: Caller, of: string): Promise<void> => {
        assert.equal((await by.post(`${of}/regenerate_secret`)).status, 200);
      };
      const [theirs, ours] = ['https://example.com/theirs', 'https://example.com/ours'];
      await send(session, await hook('sent elsewhere'), theirs);
      await renew(session, await hook('secrets shown'));
      const half = await hook('sent elsewhere, with secrets of an owner');
      await send(session, half, theirs);
      await renew(asOwner, half);
      const other = await hook('sent back, with secrets of the member');
      await renew(session, other);
      await send(session, other, theirs);
      await send(asOwner, other, ours);
      const whole = await hook('taken back');
      await renew(session, whole);
      await send(session, whole, theirs);
      await send(asOwner, whole, ours);
      await renew(asOwner, whole);
      const touched = await hook('renamed');
      const patch = { webhook: { name: 'touched', url: WEBHOOK.url } };
      assert.equal((await session.patch(touched, patch)).status, 200);
      assert.equal((await owner.del(`${path}/members/${person.id}`)).status, 204);
      const hooks: Json[] = (await asOwner.get('/webhooks')).json;
      assertSame(
        hooks.filter(({ enabled }) => enabled).map(({ name }) => name),
        ['taken back', 'touched'],
      );
      assert.deepEqual(hooks.find(({ name }) => name === 'secrets shown').health.disabled_by, 'member_left');
      await world.close();
    },

  'a removed owner does not return by an invitation of another address that they sent before': async (
    store,
  ) => {
    for (const way of ['removed', 'leaves', 'becomes a member', 'deletes the account'] as const) {
      const world = await openWorld(store);
      const organization = await newOrganization(world);
      const { owner, path } = organization;
      const { person } = await newMember(world, organization, 'owner');
      const [second, guest] = [await world.customer(), await world.customer()];
      const token = await invited(world, { ...organization, owner: person }, second.email, 'owner');
      const kept = await invited(world, organization, guest.email);
      const at = `${path}/members/${person.id}`;
      const by = way === 'removed' || way === 'becomes a member' ? owner : person;
      if (way === 'becomes a member') {
        assert.equal((await by.patch(at, { member: { role: 'member' } })).status, 200);
      } else if (way === 'deletes the account') {
        assert.equal((await person.send('DELETE', '/me', { email: person.email })).status, 204);
      } else assert.equal((await by.del(at)).status, 204);
      assertFailure(await accept(second, token), 404, 'not_found', 'Invitation not found');
      assert.equal((await accept(guest, kept)).status, 200, way);
      const rows = await findRows(store.read, 'audit_log', {
        where: { customer_id: organization.id, action: 'member.removed', object_kind: 'invitation' },
      });
      assert.deepEqual(
        rows.map(({ object_name, actor_id }) => [object_name, actor_id]),
        [[second.email, by.id]],
      );
      await world.close();
    }
  },

  'invitations from before they named their sender end with any owner, and with no member': async (store) => {
    const world = await openWorld(store);
    const organization = await newOrganization(world);
    const { owner, path } = organization;
    const { person } = await newMember(world, organization);
    const { person: other } = await newMember(world, organization, 'owner');
    const guest = await world.customer();
    const token = await invited(world, organization, guest.email);
    await store.write((tx) => query(tx, `update invitations set invited_by = null`));
    assert.equal((await owner.del(`${path}/members/${person.id}`)).status, 204);
    assert.equal((await owner.get(`${path}/invitations`)).json.length, 1);
    assert.equal((await owner.del(`${path}/members/${other.id}`)).status, 204);
    assertFailure(await accept(guest, token), 404, 'not_found', 'Invitation not found');
    await world.close();
  },

  'more tokens than are revoked at a time all end in one unit': async (store) => {
    const world = await openWorld(store);
    const { asOwner, owner, path, ...organization } = await paid(world);
    const { person, session } = await newMember(world, { ...organization, asOwner, owner, path });
    const { id: namespaceId } = created(
      await session.post('/namespaces', { namespace: { name: newName() } }),
    );
    const row = (i: number) => ({
      id: world.deps.newId(),
      namespace_id: namespaceId,
      name: 'many',
      digest: digestOf(`${namespaceId} ${i}`),
      expires_at: world.now() + DAY,
      revoked_at: null,
      created_at: world.now(),
      created_by: person.id,
    });
    await store.write((tx) =>
      insertRows(
        tx,
        'query_tokens',
        Array.from({ length: 1201 }, (_, i) => row(i)),
      ),
    );
    const before = (await world.changes()).length;
    assert.equal((await owner.del(`${path}/members/${person.id}`)).status, 204);
    const listed = await tokensOf(asOwner, { id: namespaceId });
    assert.equal(listed.filter(({ revoked_at }) => revoked_at !== null).length, 1201);
    const told = (await world.changes()).slice(before).filter(({ type }) => type === 'token.revoked');
    assert.equal(told.length, 1201);
    await world.close();
  },

  'a mint that began before the removal adds nothing after it': async (store) => {
    const world = await openWorld(store);
    const organization = await paid(world);
    const { owner, asOwner, path, namespaces } = organization;
    const { person, session } = await newMember(world, organization);
    const { id: sessionId } = (await session.get('/sessions')).json.find(({ current }: Json) => current);
    // The guard has passed; the unit of the mint runs after that of the removal.
    const actor: Actor = {
      customerId: organization.id,
      userId: person.id,
      personId: person.id,
      sessionId,
      role: 'member',
      tier: 'pro',
      via: 'session',
      apiKey: null,
      requestId: null,
      operations: new Set(['read', 'write']),
      namespaces: null,
    };
    const late = () => mintQueryToken(world.deps, actor, namespaces[0]!.id, { name: 'late' });
    assert.equal((await late()).created_by?.user_id, person.id);
    assert.equal((await owner.del(`${path}/members/${person.id}`)).status, 204);
    await assert.rejects(late(), { code: 'authentication_error' });
    const live = (await tokensOf(asOwner, namespaces[0]!)).filter(({ revoked_at }) => revoked_at === null);
    assert.deepEqual(live, []);
    await world.close();
  },

  'a member mints for at most 30 days, owners and keys for 365': async (store) => {
    const world = await openWorld(store);
    const organization = await paid(world);
    const { asOwner, namespaces } = organization;
    const { session } = await newMember(world, organization);
    const key = world.caller(created(await asOwner.post('/api_keys', { api_key: { name: 'k' } })).token);
    const most = LIMITS.queryTokenDaysOfMember;
    const namespace = namespaces[0]!;
    const minted = await mint(session, namespace, { expires_in_days: most });
    assert.equal(Date.parse(minted.expires_at), world.now() + most * DAY);
    const path = `/namespaces/${namespace.id}/query_tokens`;
    for (const days of [most + 1, 365]) {
      const answer = await session.post(path, { name: 'x', expires_in_days: days });
      assertFailure(answer, 422, 'validation_error', [
        'expires_in_days must be at most 30 for a member who is no owner',
      ]);
    }
    await mint(session, namespace);
    for (const caller of [asOwner, key]) await mint(caller, namespace, { expires_in_days: 365 });
    await world.close();
  },

  'the last owner of an organization cannot delete the account (A07)': async (store) => {
    const world = await openWorld(store);
    const organization = await newOrganization(world);
    const { owner, path } = organization;
    const { person, session } = await newMember(world, organization);
    const remove = (caller: Caller, email: string) => caller.send('DELETE', '/me', { email });
    const message =
      'The last owner of an organization cannot delete the account: make another member an owner, or delete it, first';
    assertFailure(await remove(owner, owner.email), 422, 'validation_error', [message]);
    await assert.rejects(deleteAccount(world.deps, owner.email), { code: 'validation_error' });
    // Nothing of the refused deletion stays.
    assert.equal((await owner.get('/me')).status, 200);
    assert.equal((await session.get('/me')).status, 200);
    const raised = await owner.patch(`${path}/members/${person.id}`, { member: { role: 'owner' } });
    assert.equal(raised.status, 200);
    assert.equal((await remove(owner, owner.email)).status, 204);
    assert.deepEqual(
      (await person.get(`${path}/members`)).json.map(({ role }: Json) => role),
      ['owner'],
    );
    await world.close();
  },
});
