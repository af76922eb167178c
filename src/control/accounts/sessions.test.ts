import assert from 'node:assert/strict';
import { Readable } from 'node:stream';
import { codeFor, newEmail, verify } from '../../../test/support/control/accounts/sign-in-rig.ts';
import { apiScenarios } from '../../../test/support/http/engines.ts';
import {
  type Answer,
  assertFailure,
  created,
  type Json,
  openWorld,
} from '../../../test/support/http/world.ts';
import { findRows, oneRow } from '../../../test/support/store/rows.ts';
import { LIMITS } from '../../base/limits.ts';
import { issueToken } from './rules.ts';

const signedOut = (answer: Answer): void =>
  assertFailure(answer, 401, 'authentication_error', 'Credentials are not valid');

apiScenarios('sessions', {
  'a request whose body comes after the session has ended does nothing': async (store) => {
    const world = await openWorld(store);
    const customer = await world.customer();
    const text = JSON.stringify({ api_key: { name: 'late' } });
    async function* body(end: () => Promise<unknown>): AsyncGenerator<Buffer> {
      yield Buffer.from(text.slice(0, 5));
      await end();
      world.advance(1000);
      yield Buffer.from(text.slice(5));
    }
    const post = (token: string, end: () => Promise<unknown>): Promise<Answer> =>
      world.inject({
        method: 'POST',
        url: '/api/v1/api_keys',
        headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
        payload: Readable.from(body(end)),
      });
    const stolen = await world.signIn(customer);
    assert.equal((await post(stolen.token, async () => {})).status, 201);
    const { id } = (await stolen.get('/sessions')).json.find(({ current }: Json) => current);
    signedOut(await post(stolen.token, () => customer.del(`/sessions/${id}`)));
    signedOut(await post(customer.token, () => customer.del('/sessions')));
    assert.equal((await (await world.signIn(customer)).get('/api_keys')).json.length, 1);
    await world.close();
  },

  'are listed newest first, with method and last use, and only the user’s own': async (store) => {
    const world = await openWorld(store);
    const email = newEmail();
    const first = world.caller((await verify(world, email, await codeFor(world, email))).json.token);
    world.advance(1000);
    const second = world.caller((await issueToken(world.deps, email)).token);
    await (await world.customer()).get('/me');
    // The use is noted beside the answer: the list would show it or not.
    await second.get('/me');
    await world.settle();
    const listed = await second.get('/sessions');
    assert.equal(listed.status, 200, listed.text);
    const { id: currentId } = listed.json[0];
    assert.deepEqual(listed.json, [
      {
        id: currentId,
        method: 'cli',
        current: true,
        created_at: '2026-01-01T00:00:01.000Z',
        last_used_at: '2026-01-01T00:00:01.000Z',
        expires_at: '2026-01-01T12:00:01.000Z',
      },
      {
        id: listed.json[1].id,
        method: 'code',
        current: false,
        created_at: '2026-01-01T00:00:00.000Z',
        last_used_at: null,
        expires_at: '2026-01-01T12:00:00.000Z',
      },
    ]);
    const usedAt = async (): Promise<string> => {
      await world.settle();
      const { json } = await first.get('/sessions');
      return json.find(({ id }: { id: string }) => id === currentId).last_used_at;
    };
    assert.equal(await usedAt(), '2026-01-01T00:00:01.000Z');
    world.advance(59_999);
    await second.get('/me');
    assert.equal(await usedAt(), '2026-01-01T00:00:01.000Z');
    world.advance(1);
    await second.get('/me');
    assert.equal(await usedAt(), '2026-01-01T00:01:01.000Z');
    await world.close();
  },

  'end at once: this one, another one, or all': async (store) => {
    const world = await openWorld(store);
    const customer = await world.customer();
    const [a, b, c] = [
      await world.signIn(customer),
      await world.signIn(customer),
      await world.signIn(customer),
    ];
    assert.equal((await a.del('/auth/session')).status, 204);
    signedOut(await a.get('/me'));
    const { json } = await c.get('/sessions');
    const other = json.find(({ current }: { current: boolean }) => current).id;
    assert.equal((await b.del(`/sessions/${other}`)).status, 204);
    assertFailure(await b.del(`/sessions/${other}`), 404, 'not_found', 'Session not found');
    signedOut(await c.get('/me'));
    assert.equal((await b.del('/sessions')).status, 204);
    for (const caller of [b, customer]) signedOut(await caller.get('/me'));
    await world.close();
  },

  'of another user are not found, and API keys have none': async (store) => {
    const world = await openWorld(store);
    const [one, two] = [await world.customer(), await world.customer()];
    const [session] = (await one.get('/sessions')).json;
    assertFailure(await two.del(`/sessions/${session.id}`), 404, 'not_found');
    assertFailure(await two.del('/sessions/x'), 404, 'not_found');
    assert.equal((await one.get('/me')).status, 200);
    const key = await one.key();
    const calls = [key.get('/sessions'), key.del('/sessions'), key.del('/auth/session'), key.del('/me')];
    for (const answer of await Promise.all(calls)) assertFailure(answer, 403, 'authorization_error');
    await world.close();
  },

  'are at most a hundred: the oldest makes room, and ended ones are deleted': async (store) => {
    const world = await openWorld(store);
    const customer = await world.customer();
    for (let i = 0; i < 100; i++) {
      world.advance(1);
      await issueToken(world.deps, customer.email);
    }
    const last = await world.signIn(customer);
    assert.equal((await last.get('/sessions')).json.length, 100);
    signedOut(await customer.get('/me'));
    await last.del('/sessions');
    await issueToken(world.deps, customer.email);
    const rows = await findRows(store.read, 'sessions', { columns: ['id'], where: { user_id: customer.id } });
    assert.equal(rows.length, 1);
    await world.close();
  },

  'the tokens of the session that a hundred later ones end go with it': async (store) => {
    const world = await openWorld(store);
    const customer = await world.customer();
    const { id, name } = await customer.namespace();
    const path = `/namespaces/${id}/query_tokens`;
    created(await customer.post(path, { name: 'page', session: true }));
    const kept = created(await customer.post(path, { name: 'kept' }));
    for (let i = 0; i < LIMITS.sessionsPerUser; i++) {
      world.advance(1);
      await issueToken(world.deps, customer.email);
    }
    const last = await world.signIn(customer);
    const live = (await last.get(path)).json.filter(({ revoked_at }: Json) => revoked_at === null);
    assert.deepEqual(
      live.map((token: Json) => token.id),
      [kept.id],
    );
    const told = (await world.changes()).filter(({ type }) => type === 'token.revoked');
    assert.deepEqual(
      told.map(({ namespace }) => namespace),
      [name],
    );
    await world.close();
  },

  'sign-out does not draw on the write budget': async (store) => {
    const refusing = {
      take: (budget: string) => (budget === 'writes' ? 60 : 0),
      used: () => null,
      giveBack: () => {},
    };
    const world = await openWorld(store, { limiter: () => refusing });
    const { email } = await oneRow(world.deps.store.read, 'users', { columns: ['email'] });
    const caller = world.caller((await issueToken(world.deps, email)).token);
    assertFailure(await caller.post('/namespaces', { namespace: { name: 'x' } }), 429, 'rate_limit_exceeded');
    assert.equal((await caller.del('/auth/session')).status, 204);
    await world.close();
  },
});
