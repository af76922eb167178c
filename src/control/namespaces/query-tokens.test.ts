import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { apiScenarios } from '../../../test/support/http/engines.ts';
import {
  assertFailure,
  type Caller,
  created,
  type Json,
  openWorld,
} from '../../../test/support/http/world.ts';
import { LIMITS } from '../../base/limits.ts';
import { insertQueryToken } from '../../store/query-tokens.ts';

const DAY = 86_400_000;
const RANGE = 'expires_in_days must be between 1 and 365';

const REFUSED: readonly (readonly [object, ...string[]])[] = [
  [{}, 'name is required'],
  [{ name: '' }, 'name must be one line of text and not blank'],
  [{ name: 'a\u0000b' }, 'name must be one line of text and not blank'],
  [{ name: 5 }, 'name must be a string'],
  [{ name: 'x'.repeat(101) }, 'name must have at most 100 characters'],
  [{ name: 'x', expires_in_days: 0 }, RANGE],
  [{ name: 'x', expires_in_days: 366 }, RANGE],
  [{ name: 'x', expires_in_days: -1 }, RANGE],
  [{ name: 'x', expires_in_days: '30' }, 'expires_in_days must be an integer'],
  [{ name: 'x', expires_in_days: 1.5 }, 'expires_in_days must be an integer'],
  [{ name: 'x', expires_in_days: null }, 'expires_in_days must be an integer'],
  [{ name: 'x', token: 'y' }, 'token is not a known field'],
  [{ name: 'x', session: 1 }, 'session must be true or false'],
  [{ name: 'x', session: true, expires_in_days: 1 }, 'expires_in_days is not for a token of a session'],
  [{ query_token: { name: 'x' } }, 'query_token is not a known field', 'name is required'],
];

const nameOf = ({ name }: Json): string => name;

apiScenarios('query tokens', {
  'a token is minted once, listed without its plaintext, and revoked': async (store) => {
    const world = await openWorld(store);
    const customer = await world.customer();
    const { id, name } = await customer.namespace();
    const path = `/namespaces/${id}/query_tokens`;
    const minted = created(await customer.post(path, { name: 'reader' }));
    const { token, ...shown } = minted;
    assert.match(token, /^svcq[0-9a-v]{52}$/);
    assert.deepEqual(shown, {
      id: shown.id,
      name: 'reader',
      namespace_id: id,
      expires_at: '2026-01-31T00:00:00.000Z',
      revoked_at: null,
      created_at: '2026-01-01T00:00:00.000Z',
      created_by: { user_id: customer.id, email: customer.email },
      session: false,
    });
    assert.deepEqual((await customer.get(path)).json, [shown]);
    const digest = createHash('sha256').update(token).digest('hex');
    const mint = (await world.changes()).at(-1)!;
    assert.deepEqual(
      { ...mint, seq: 0 },
      {
        seq: 0,
        at: world.now(),
        owner: customer.id,
        cause: 'direct',
        type: 'token.minted',
        namespace: name,
        digest,
        expiresAt: Date.parse(shown.expires_at),
      },
    );

    world.advance(5000);
    assert.equal((await customer.del(`${path}/${shown.id}`)).status, 204);
    const revoked = { ...shown, revoked_at: '2026-01-01T00:00:05.000Z' };
    assert.deepEqual((await customer.get(path)).json, [revoked]);
    const changes = await world.changes();
    const last = changes.at(-1)!;
    assert.deepEqual([last.type, 'digest' in last && last.digest], ['token.revoked', digest]);
    // A second revocation changes nothing.
    world.advance(5000);
    assert.equal((await customer.del(`${path}/${shown.id}`)).status, 204);
    assert.deepEqual((await customer.get(path)).json, [revoked]);
    assert.equal((await world.changes()).length, changes.length);
    await world.close();
  },

  'its lifetime is 1 to 365 days': async (store) => {
    const world = await openWorld(store);
    const customer = await world.customer();
    const { id } = await customer.namespace();
    for (const days of [1, 30, 365]) {
      const body = { name: 'n'.repeat(100), expires_in_days: days };
      const { expires_at } = created(await customer.post(`/namespaces/${id}/query_tokens`, body));
      assert.equal(Date.parse(expires_at), world.now() + days * DAY);
    }
    for (const [body, ...messages] of REFUSED) {
      const answer = await customer.post(`/namespaces/${id}/query_tokens`, body);
      assertFailure(answer, 422, 'validation_error', messages);
    }
    await world.close();
  },

  'a token of another namespace is not found': async (store) => {
    const world = await openWorld(store);
    const customer = await world.customer();
    const [one, two] = [await customer.namespace(), await customer.namespace()];
    const { id } = created(await customer.post(`/namespaces/${one.id}/query_tokens`, { name: 't' }));
    for (const token of [id, world.deps.newId(), 'not-a-uuid']) {
      const answer = await customer.del(`/namespaces/${two.id}/query_tokens/${token}`);
      assertFailure(answer, 404, 'not_found', 'Query token not found');
    }
    assert.equal((await customer.get(`/namespaces/${one.id}/query_tokens`)).json[0].revoked_at, null);
    await world.close();
  },

  'live tokens are bounded, ended ones are forgotten in time': async (store) => {
    const world = await openWorld(store);
    const customer = await world.customer();
    const { id } = await customer.namespace();
    const path = `/namespaces/${id}/query_tokens`;
    for (let i = 0; i < LIMITS.queryTokensPerNamespace; i++) {
      created(await customer.post(path, { name: `t${i}`, expires_in_days: 1 }));
    }
    const full = 'Query token limit of the namespace reached';
    assertFailure(await customer.post(path, { name: 'more' }), 422, 'quota_exceeded', full);
    const [first] = (await customer.get(path)).json;
    await customer.del(`${path}/${first.id}`);
    created(await customer.post(path, { name: 'more', expires_in_days: 365 }));
    world.advance(DAY);
    const session = await world.signIn(customer);
    created(await session.post(path, { name: 'again' }));
    assert.equal((await session.get(path)).json.length, LIMITS.queryTokensPerNamespace + 2);
    world.advance(31 * DAY);
    const much = await world.signIn(customer);
    created(await much.post(path, { name: 'last' }));
    assert.deepEqual(
      (await much.get(path)).json.map((token: { name: string }) => token.name),
      ['more', 'again', 'last'],
    );
    await world.close();
  },

  'of tokens that are minted and revoked all the time the newest stay listed': async (store) => {
    const world = await openWorld(store);
    const customer = await world.customer();
    const { id } = await customer.namespace();
    const path = `/namespaces/${id}/query_tokens`;
    created(await customer.post(path, { name: 'live' }));
    world.advance(1);
    created(await customer.post(path, { name: 'expired', expires_in_days: 1 }));
    world.advance(DAY + 1);
    const later = await world.signIn(customer);
    const now = world.now();
    await store.write(async (tx) => {
      for (let i = 0; i < LIMITS.queryTokensListed + 400; i++) {
        const digest = createHash('sha256').update(`${id} ${i}`).digest('hex');
        const times = { expires_at: now + DAY, revoked_at: now, created_at: now - 1 };
        const of = { namespace_id: id, created_by: null, session_id: null };
        await insertQueryToken(tx, { id: world.deps.newId(), name: `t${i}`, digest, ...times, ...of });
      }
    });
    const namesFor = async (caller: Caller) => (await caller.get(path)).json.map(nameOf);
    created(await later.post(path, { name: 'new' }));
    const listed = await namesFor(later);
    // The clock of a node may be behind, for which a token that has just expired still counts: it can be revoked.
    assert.deepEqual(listed.slice(0, 2), ['live', 'expired']);
    assert.deepEqual([listed.length, listed.at(-1)], [2 + LIMITS.queryTokensListed, 'new']);
    world.advance(DAY);
    const next = await world.signIn(customer);
    created(await next.post(path, { name: 'newer' }));
    const left = await namesFor(next);
    assert.deepEqual([left[0], left.includes('expired'), left.at(-1)], ['live', false, 'newer']);
    await world.close();
  },

  'a token of a session ends with it, and another replaces it': async (store) => {
    const world = await openWorld(store);
    const customer = await world.customer();
    const { id, name } = await customer.namespace();
    const path = `/namespaces/${id}/query_tokens`;
    const [one, two] = [await world.signIn(customer), await world.signIn(customer)];
    const body = { name: 'page', session: true };
    const first = created(await one.post(path, body));
    const other = created(await two.post(path, body));
    const plain = created(await one.post(path, { name: 'mine' }));
    const again = created(await one.post(path, body));
    const live = async (): Promise<ReadonlySet<string>> =>
      new Set(
        (await customer.get(path)).json.flatMap((token: { id: string; revoked_at: string | null }) =>
          token.revoked_at === null ? [token.id] : [],
        ),
      );
    assert.deepEqual(await live(), new Set([other.id, plain.id, again.id]));
    assert.ok(again.session && Date.parse(again.expires_at) <= world.now() + DAY / 2);
    const revoked = (await world.changes()).filter(({ type }) => type === 'token.revoked');
    const digest = createHash('sha256').update(first.token).digest('hex');
    assert.deepEqual(
      revoked.map((change) => ('digest' in change ? [change.namespace, change.digest, change.owner] : [])),
      [[name, digest, customer.id]],
    );
    // Those of one session do not touch those of another, nor what was minted to stay.
    assert.equal((await one.del('/auth/session')).status, 204);
    assert.deepEqual(await live(), new Set([other.id, plain.id]));
    created(await two.post(path, { name: 'more' }));
    await customer.del('/sessions');
    const last = await world.signIn(customer);
    const rest = (await last.get(path)).json.filter(
      (token: { revoked_at: string | null }) => token.revoked_at === null,
    );
    assert.deepEqual(rest.map((token: { name: string }) => token.name).toSorted(), ['mine', 'more']);
    await world.close();
  },

  'a full namespace has room for the next token of a session that has one': async (store) => {
    const world = await openWorld(store);
    const customer = await world.customer();
    const { id } = await customer.namespace();
    const path = `/namespaces/${id}/query_tokens`;
    created(await customer.post(path, { name: 'page', session: true }));
    for (let i = 1; i < LIMITS.queryTokensPerNamespace; i++)
      created(await customer.post(path, { name: `t${i}` }));
    created(await customer.post(path, { name: 'page', session: true }));
    const full = 'Query token limit of the namespace reached';
    const stranger = await world.signIn(customer);
    assertFailure(await stranger.post(path, { name: 'page', session: true }), 422, 'quota_exceeded', full);
    await world.close();
  },

  'an API key has no session, and no token of one': async (store) => {
    const world = await openWorld(store);
    const customer = await world.customer();
    const { id } = await customer.namespace();
    const key = await customer.key();
    const answer = await key.post(`/namespaces/${id}/query_tokens`, { name: 'page', session: true });
    assert.equal(answer.status, 403);
    await world.close();
  },

  'tokens of all namespaces are listed by their end': async (store) => {
    const world = await openWorld(store);
    const customer = await world.customer();
    const stranger = await world.customer();
    const [one, two, foreign] = [
      await customer.namespace(),
      await customer.namespace(),
      await stranger.namespace(),
    ];
    const mint = async (namespace: string, name: string, days: number) =>
      created(await customer.post(`/namespaces/${namespace}/query_tokens`, { name, expires_in_days: days }));
    await mint(one.id, 'late', 30);
    await mint(two.id, 'soon', 2);
    await mint(one.id, 'next', 5);
    const gone = await mint(two.id, 'revoked', 1);
    await customer.del(`/namespaces/${two.id}/query_tokens/${gone.id}`);
    await customer.post(`/namespaces/${one.id}/query_tokens`, { name: 'page', session: true });
    await stranger.post(`/namespaces/${foreign.id}/query_tokens`, { name: 'foreign', expires_in_days: 1 });
    const names = async (query: string, caller: Pick<typeof customer, 'get'> = customer) =>
      (await caller.get(`/query_tokens${query}`)).json.map((token: { name: string; namespace: string }) => [
        token.name,
        token.namespace,
      ]);
    const [soon, next, late] = [
      ['soon', two.name],
      ['next', one.name],
      ['late', one.name],
    ];
    assert.deepEqual(await names(''), [soon, next, late]);
    assert.deepEqual(await names('?limit=1'), [soon]);
    // The bound itself is not before it.
    assert.deepEqual(await names('?expiring_before=2026-01-06T00:00:00Z'), [soon]);
    const key = await customer.key({ namespaces: [one.name] });
    assert.deepEqual(await names('', key), [next, late]);
    world.advance(3 * DAY);
    const session = await world.signIn(customer);
    assert.deepEqual(await names('', session), [next, late]);
    for (const query of ['?expiring_before=soon', '?limit=0', '?limit=101', '?x=1']) {
      assert.equal((await session.get(`/query_tokens${query}`)).status, 400, query);
    }
    await world.close();
  },
});
