/** What a request may still write whose credential ends after the guard has let it in. */
import assert from 'node:assert/strict';
import { REQUESTS } from '../../../test/support/control/audit/requests.ts';
import { actFor, newMember, newOrganization } from '../../../test/support/control/organizations/rig.ts';
import { apiScenarios } from '../../../test/support/http/engines.ts';
import { type Located, operationsOf } from '../../../test/support/http/openapi/document.ts';
import { contract } from '../../../test/support/http/openapi/response-check.ts';
import {
  type Answer,
  assertFailure,
  type Caller,
  created,
  type Json,
  openWorld,
  WEBHOOK,
  type World,
} from '../../../test/support/http/world.ts';
import { deleteRows, findRows, oneRow } from '../../../test/support/store/rows.ts';
import { revokeSession } from '../../store/accounts.ts';
import { deleteApiKey } from '../../store/api-keys.ts';
import type { Db, Store, Tx } from '../../store/store.ts';
import { NO_ACTION } from '../audit/operations.ts';
import { setOrganizationTier } from '../organizations/rules.ts';

const ENDED = 'Credentials are not valid';
const SAFE: ReadonlySet<string> = new Set(['GET', 'HEAD']);

/** Unsafe operations for which no credential is held, with the reason. */
const WITHOUT_UNIT: ReadonlySet<string> = new Set(
  Object.keys(NO_ACTION).filter((name) => name !== 'switchOrganization'),
);

/** A request of each operation that writes: the last one that the function sends. */
const WRITES: Readonly<Record<string, (world: World) => Promise<readonly [Answer, customer: string]>>> = {
  ...REQUESTS,
  async switchOrganization(world) {
    const { owner, id } = await newOrganization(world);
    return [await owner.post('/auth/organization', { organization_id: id }), id];
  },
};

interface Claims {
  readonly sid: string;
  readonly sub: string;
}

function claimsOf(token: string): Claims {
  return JSON.parse(Buffer.from(token.split('.')[1]!, 'base64url').toString());
}

/** By the title of its test: ways in which a credential ends between the guard and the unit of a request. */
const ENDINGS: Readonly<
  Record<string, { readonly isKey: boolean; end(tx: Tx, token: string, keyId: string): Promise<unknown> }>
> = {
  'every operation is 401 and writes nothing: the session is signed out': {
    isKey: false,
    end: (tx, token) => revokeSession(tx, claimsOf(token).sid, claimsOf(token).sub, 1),
  },
  'every operation is 401 and writes nothing: the membership ends': {
    isKey: false,
    async end(tx, token) {
      const { user_id, customer_id } = await oneRow(tx, 'sessions', { where: { id: claimsOf(token).sid } });
      await deleteRows(tx, 'memberships', { user_id, customer_id });
    },
  },
  'every operation is 401 and writes nothing: the API key is deleted': {
    isKey: true,
    async end(tx, _, id) {
      const { customer_id } = await oneRow(tx, 'api_keys', { where: { id } });
      assert.notEqual(await deleteApiKey(tx, id, customer_id), null);
    },
  },
};

/** All that a request may write. Uses of credentials are noted beside it, and so are refusals. */
async function written(db: Db): Promise<Readonly<Record<string, readonly string[]>>> {
  const rows = {
    audit_log: await findRows(db, 'audit_log', { where: { outcome: 'done' } }),
    sessions: await findRows(db, 'sessions', { columns: ['id', 'customer_id', 'revoked_at'] }),
    api_keys: await findRows(db, 'api_keys', { columns: ['id', 'name'] }),
    customers: await findRows(db, 'customers'),
    users: await findRows(db, 'users'),
    memberships: await findRows(db, 'memberships'),
    invitations: await findRows(db, 'invitations'),
    passkeys: await findRows(db, 'passkeys'),
    used_challenges: await findRows(db, 'used_challenges'),
    namespaces: await findRows(db, 'namespaces'),
    records: await findRows(db, 'records'),
    query_tokens: await findRows(db, 'query_tokens'),
    webhooks: await findRows(db, 'webhooks'),
    webhook_deliveries: await findRows(db, 'webhook_deliveries'),
    idempotency_keys: await findRows(db, 'idempotency_keys'),
    change_log: await findRows(db, 'change_log'),
  };
  return Object.fromEntries(
    Object.entries(rows).map(([table, all]) => [table, all.map((row) => JSON.stringify(row)).toSorted()]),
  );
}

type Ending = (typeof ENDINGS)[string];

interface Attack {
  readonly answer: Answer;
  /** What was there when the credential had ended. Null: the request began no unit. */
  readonly before: Readonly<Record<string, readonly string[]>> | null;
  readonly after: Readonly<Record<string, readonly string[]>>;
}

/** How many requests of its kind the fixture of an operation sends. */
const REQUESTS_OF = new Map<string, number>();

/** A world in which the credential of a request ends when its first unit is about to begin. */
async function openAttacks(store: Store, ending: Ending) {
  let route: RegExp | null = null;
  let count = 0;
  let attacked = 0;
  let end: (() => Promise<void>) | null = null;
  let before: Attack['before'] = null;
  const world = await openWorld(store, {
    // The note of a use is a unit too: whichever comes first waits for the end, and so does the other.
    wrap: (shared) => ({
      ...shared,
      async write(work) {
        await end?.();
        return shared.write(work);
      },
    }),
    async around(request, send) {
      const { method = '', url } = request;
      if (typeof url !== 'string' || !route?.test(`${method} ${url}`)) return send(request);
      count++;
      if (count !== attacked) return send(request);
      let { authorization: token = '' } = request.headers as { readonly authorization?: string };
      token = token.replace('Bearer ', '');
      let keyId = '';
      if (ending.isKey) {
        const payload = { api_key: { name: 'k' } };
        const key = created(await send({ ...request, method: 'POST', url: '/api/v1/api_keys', payload }));
        ({ token, id: keyId } = key);
      }
      let ended: Promise<void> | null = null;
      const endNow = async (): Promise<void> => {
        await store.write((tx) => ending.end(tx, token, keyId));
        before = await written(store.read);
      };
      end = () => {
        ended ??= endNow();
        return ended;
      };
      const once = method === 'POST' ? { 'idempotency-key': 'once' } : {};
      const headers = { ...request.headers, authorization: `Bearer ${token}`, ...once };
      const answer = await send({ ...request, headers });
      end = null;
      return answer;
    },
  });
  return {
    close: () => world.close(),
    async attack({ method, path, operation: { operationId } }: Located): Promise<Attack> {
      const run = WRITES[operationId]!;
      route = new RegExp(`^${method} /api/v1${path.replaceAll(/\{\w+\}/g, '[^/?]+')}(\\?|$)`);
      count = 0;
      attacked = REQUESTS_OF.get(operationId) ?? 0;
      if (attacked === 0) {
        const [unharmed] = await run(world);
        assert.ok(unharmed.status < 300, `${operationId}: ${unharmed.text}`);
        REQUESTS_OF.set(operationId, count);
        attacked = count;
        count = 0;
      }
      before = null;
      const [answer] = await run(world);
      await world.settle();
      return { answer, before, after: await written(store.read) };
    },
  };
}

/** Those that change something, and reads that leave a row in the audit log. */
async function writingOperations(): Promise<readonly Located[]> {
  const { document } = await contract();
  return operationsOf(document).filter(({ method, operation }) => {
    if (operation.security.length === 0) return false;
    return SAFE.has(method) ? operation.operationId in REQUESTS : !WITHOUT_UNIT.has(operation.operationId);
  });
}

/** A step of a request that waits: the webhook's URL is checked, with DNS, before the unit. */
function whileUrlIsChecked(world: World, run: () => Promise<Answer>): void {
  world.network.checkUrl = async () => {
    world.network.checkUrl = async () => null;
    const answer = await run();
    assert.equal(answer.status, 204, answer.text);
    return null;
  };
}

apiScenarios('a credential that ends between the guard and the unit', {
  ...Object.fromEntries(
    Object.entries(ENDINGS).map(([name, ending]) => [
      name,
      async (store: Store) => {
        const operations = (await writingOperations()).filter(
          ({ operation }) => !ending.isKey || operation.security.some((one) => 'apiKey' in one),
        );
        assert.ok(operations.length > 18);
        const attacks = await openAttacks(store, ending);
        for (const located of operations) {
          const { answer, before, after } = await attacks.attack(located);
          const what = located.operation.operationId;
          assert.ok(before !== null, `${what} has no unit`);
          assert.equal(answer.status, 401, `${what}: ${answer.text}`);
          assertFailure(answer, 401, 'authentication_error', ENDED);
          assert.deepEqual(after, before, what);
        }
        await attacks.close();
      },
    ]),
  ),

  'a member who is removed while a name server is awaited changes no webhook': async (store) => {
    const world = await openWorld(store);
    const organization = await newOrganization(world);
    await setOrganizationTier(world.deps, organization.id, 'pro');
    const { asOwner, owner, path } = organization;
    const webhook = created(await asOwner.post('/webhooks', { webhook: WEBHOOK }));
    const { person, session } = await newMember(world, organization);
    whileUrlIsChecked(world, () => owner.del(`${path}/members/${person.id}`));
    const url = 'https://elsewhere.example.com/in';
    assertFailure(
      await session.patch(`/webhooks/${webhook.id}`, { webhook: { url } }),
      401,
      'authentication_error',
      ENDED,
    );
    const { signing_secret: _, secret: __, ...shown } = webhook;
    assert.deepEqual((await asOwner.get(`/webhooks/${webhook.id}`)).json, shown);
    await world.close();
  },

  'a key that is deleted, or a session that is signed out, while a name server is awaited makes no webhook':
    async (store) => {
      const world = await openWorld(store);
      const customer = await world.customer();
      const key = await customer.key();
      const stolen = await world.signIn(customer);
      const cases: readonly (readonly [Caller, () => Promise<Answer>])[] = [
        [key, () => customer.del(`/api_keys/${key.id}`)],
        [stolen, () => customer.del('/sessions')],
      ];
      for (const [caller, end] of cases) {
        whileUrlIsChecked(world, end);
        const answer = await caller.post('/webhooks', { webhook: WEBHOOK });
        assertFailure(answer, 401, 'authentication_error', ENDED);
      }
      assert.deepEqual((await (await world.signIn(customer)).get('/webhooks')).json, []);
      await world.close();
    },

  'an owner who becomes a member meanwhile may do what a member may, and nothing else': async (store) => {
    const under = { is: false, demote: async (): Promise<void> => {} };
    const world = await openWorld(store, {
      wrap: (shared) => ({
        ...shared,
        async write(work) {
          if (under.is) await under.demote();
          return shared.write(work);
        },
      }),
    });
    const organization = await newOrganization(world);
    const { asOwner, owner, path } = organization;
    const { person, session } = await newMember(world, organization, 'owner');
    const namespace = created(await asOwner.post('/namespaces', { namespace: { name: 'demoted' } }));
    const key = created(await asOwner.post('/api_keys', { api_key: { name: 'k' } }));
    await session.get('/me');
    await world.settle();
    const setRole = async (role: string): Promise<void> => {
      under.is = false;
      const answer = await owner.patch(`${path}/members/${person.id}`, { member: { role } });
      assert.equal(answer.status, 200, answer.text);
    };
    under.demote = () => setRole('member');
    const home = `/namespaces/${namespace.id}`;
    const cases: readonly (readonly [status: number, () => Promise<Answer>])[] = [
      [403, () => session.post('/api_keys', { api_key: { name: 'kept' } })],
      [403, () => session.del(`/api_keys/${key.id}`)],
      [403, () => session.patch(home, { namespace: { history: { versions: 5, days: 5 } } })],
      [422, () => session.post(`${home}/query_tokens`, { name: 'long', expires_in_days: 365 })],
      [201, () => session.post(`${home}/query_tokens`, { name: 'short', expires_in_days: 1 })],
      [200, () => session.patch(home, { namespace: { max_ttl: 9 } })],
    ];
    for (const [status, send] of cases) {
      await setRole('owner');
      under.is = true;
      const answer = await send();
      assert.equal(answer.status, status, answer.text);
      assert.equal(under.is, false);
    }
    const names = ({ json }: Answer): string[] => json.map(({ name }: Json) => name);
    assert.deepEqual(names(await asOwner.get('/api_keys')), ['k']);
    assert.deepEqual(names(await asOwner.get(`${home}/query_tokens`)), ['short']);
    await world.close();
  },

  'a session that switches meanwhile may finish what it was asked before': async (store) => {
    let onUnit: (() => Promise<unknown>) | null = null;
    const world = await openWorld(store, {
      wrap: (shared) => ({
        ...shared,
        async write(work) {
          const before = onUnit;
          onUnit = null;
          await before?.();
          return shared.write(work);
        },
      }),
    });
    const { asOwner } = await newOrganization(world);
    await asOwner.get('/me');
    await world.settle();
    onUnit = () => actFor(asOwner, null);
    const key = created(await asOwner.post('/api_keys', { api_key: { name: 'k' } }));
    assert.equal(onUnit, null);
    assert.deepEqual((await asOwner.get('/api_keys')).json, []);
    assert.equal((await world.caller(key.token).get('/namespaces')).status, 200);
    await world.close();
  },
});
