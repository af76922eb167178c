import assert from 'node:assert/strict';
import { accept, invited, newOrganization } from '../../test/support/control/organizations/rig.ts';
import { softwareAuthenticator } from '../../test/support/control/passkeys/authenticator.ts';
import { creationOptions } from '../../test/support/control/passkeys/rig.ts';
import { raceScenarios, type TwoProcesses } from '../../test/support/http/two-processes.ts';
import {
  type Answer,
  type Customer,
  newName,
  PUBLIC_URL,
  WEBHOOK,
  type World,
} from '../../test/support/http/world.ts';
import { query } from '../../test/support/store/rows.ts';
import { LIMITS, TIERS } from '../base/limits.ts';

/** Of two that want the last place one gets it, however they meet: `created` and the refusal, in either order. */
function assertOne(answers: readonly Answer[], created = 201): void {
  const outcome = answers.map(({ status }) => status).join(' ');
  const texts = answers.map(({ text }) => text).join();
  assert.ok([`${created} 422`, `422 ${created}`].includes(outcome), `${outcome}: ${texts}`);
  assert.equal(texts.includes('quota_exceeded'), true, texts);
}

/** Runs with a limit of two. */
async function withTwo<T extends object>(limits: T, name: keyof T, run: () => Promise<void>): Promise<void> {
  const before = limits[name];
  Object.assign(limits, { [name]: 2 });
  try {
    await run();
  } finally {
    Object.assign(limits, { [name]: before });
  }
}

type Send = (world: World, customer: Customer, body: Body) => Promise<Answer>;
type Body = Readonly<Record<string, unknown>>;

/** Two requests at once of a customer who has one thing of two, in a round each. */
function atLastPlace(
  { world, race }: TwoProcesses,
  begin: () => Promise<{ readonly customer: Customer; readonly left: Send; readonly right?: Send }>,
  created = 201,
): Promise<void> {
  return race(async () => {
    const { customer, left, right = left } = await begin();
    const first = await left(world, customer, {});
    assert.equal(first.status, created, first.text);
    return {
      left: (at) => left(at, customer, {}),
      right: (at) => right(at, customer, {}),
      check: (...both) => assertOne(both, created),
    };
  });
}

const posting =
  (path: string, body: () => object): Send =>
  (at, { token }) =>
    at.caller(token).post(path, body());

raceScenarios('at the last place of a quota, of two at once one gets it', {
  namespaces: (two) =>
    withTwo(LIMITS, 'namespacesPerCustomer', () =>
      atLastPlace(two, async () => ({
        customer: await two.world.customer(),
        left: posting('/namespaces', () => ({ namespace: { name: newName() } })),
      })),
    ),

  'API keys': (two) =>
    withTwo(LIMITS, 'apiKeysPerCustomer', () =>
      atLastPlace(two, async () => ({
        customer: await two.world.customer(),
        left: posting('/api_keys', () => ({ api_key: { name: 'k' } })),
      })),
    ),

  webhooks: (two) =>
    withTwo(TIERS.pro, 'webhooks', () =>
      atLastPlace(two, async () => ({
        customer: await two.world.customer(),
        left: posting('/webhooks', () => ({ webhook: WEBHOOK })),
      })),
    ),

  'a webhook that is enabled again': (two) =>
    withTwo(TIERS.pro, 'webhooks', async () => {
      const { world, race } = two;
      await race(async () => {
        const customer = await world.customer();
        const { id } = await customer.webhook();
        await customer.patch(`/webhooks/${id}`, { webhook: { enabled: false } });
        return {
          left: (at) => at.caller(customer.token).patch(`/webhooks/${id}`, { webhook: { enabled: true } }),
          right: (at) => at.caller(customer.token).post('/webhooks', { webhook: WEBHOOK }),
          // Disabled webhooks count too.
          check: (enabled, made) => assert.deepEqual([enabled.status, made.status], [200, 201]),
        };
      });
    }),

  'query tokens': (two) =>
    withTwo(LIMITS, 'queryTokensPerNamespace', () =>
      atLastPlace(two, async () => {
        const customer = await two.world.customer();
        const { id } = await customer.namespace();
        return { customer, left: posting(`/namespaces/${id}/query_tokens`, () => ({ name: 't' })) };
      }),
    ),

  'records, one by one and in bulk': (two) =>
    withTwo(TIERS.free, 'records', () =>
      atLastPlace(two, async () => {
        const customer = await two.world.customer('free');
        const { name } = await customer.namespace();
        const record = () => ({ key: `${newName()}.${name}.v1`, data: 'aGk=' });
        const bulk = (at: World) => at.caller(customer.token).post('/records/bulk', { records: [record()] });
        return {
          customer,
          left: posting('/records', () => ({ record: record() })),
          // Its success is a 200.
          right: async (at) => {
            const answer = await bulk(at);
            return answer.status === 200 ? { ...answer, status: 201 } : answer;
          },
        };
      }),
    ),

  organizations: (two) =>
    withTwo(LIMITS, 'organizationsPerUser', () =>
      atLastPlace(two, async () => ({
        customer: await two.world.customer(),
        left: posting('/organizations', () => ({ organization: { name: 'Acme' } })),
      })),
    ),

  'an organization that is founded, and one that is joined': (two) =>
    withTwo(LIMITS, 'organizationsPerUser', async () => {
      const { world, race } = two;
      await race(async () => {
        const customer = await world.customer();
        await customer.post('/organizations', { organization: { name: 'Own' } });
        const token = await invited(world, await newOrganization(world), customer.email);
        return {
          left: async (at) => {
            const answer = await accept(at.caller(customer.token), token);
            return answer.status === 200 ? { ...answer, status: 201 } : answer;
          },
          right: (at) => at.caller(customer.token).post('/organizations', { organization: { name: 'B' } }),
          check: (...both) => assertOne(both),
        };
      });
    }),

  'members and invitations': (two) =>
    withTwo(LIMITS, 'membersPerOrganization', async () => {
      const { world, race } = two;
      await race(async () => {
        const { path, owner } = await newOrganization(world);
        const invite = (at: World) =>
          at
            .caller(owner.token)
            .post(`${path}/invitations`, { invitation: { email: `${newName()}@example.com` } });
        return { left: invite, right: invite, check: (...both) => assertOne(both) };
      });
    }),

  passkeys: (two) =>
    withTwo(LIMITS, 'passkeysPerUser', async () => {
      const { world, race, advance } = two;
      await race(async () => {
        advance(60_000);
        const customer = await world.signIn(await world.customer());
        const add = async (): Promise<(at: World) => Promise<Answer>> => {
          const response = softwareAuthenticator(PUBLIC_URL).create(await creationOptions(customer));
          return (at) => at.caller(customer.token).post('/passkeys', { name: 'laptop', response });
        };
        const first = await add();
        const [left, right] = [await add(), await add()];
        assert.equal((await first(world)).status, 201);
        return { left, right, check: (...both) => assertOne(both) };
      });
    }),

  'keys of idempotency': (two) =>
    withTwo(LIMITS, 'idempotencyKeys', async () => {
      const { world, race } = two;
      await race(async () => {
        const customer = await world.customer();
        const post = (at: World, key: string) =>
          at
            .caller(customer.token)
            .send('POST', '/api_keys', { api_key: { name: 'k' } }, { 'idempotency-key': key });
        assert.equal((await post(world, 'first')).status, 201);
        return {
          left: (at) => post(at, 'left'),
          right: (at) => post(at, 'right'),
          check: (...both) => assertOne(both),
        };
      });
    }),
});

raceScenarios('one Idempotency-Key in two processes', {
  'is one record, one token, one key: and both get the same answer': async ({ world, race }) => {
    const customer = await world.customer();
    const { id, name } = await customer.namespace();
    for (const [path, body] of [
      ['/records', () => ({ record: { key: `${newName()}.${name}.v1`, data: 'aGk=' } })],
      [`/namespaces/${id}/query_tokens`, () => ({ name: 't' })],
      ['/records/bulk', () => ({ records: [{ key: `${newName()}.${name}.v1`, data: 'aGk=' }] })],
    ] as const) {
      await race(async () => {
        const key = { 'idempotency-key': newName() };
        const sent = body();
        const send = (at: World) => at.caller(customer.token).send('POST', path, sent, key);
        return {
          left: send,
          right: send,
          check: (left, right) => assert.deepEqual([left.status, left.text], [right.status, right.text]),
        };
      });
    }
  },

  'is free again when the request that took it fails': async ({ world, store, race }) => {
    const customer = await world.customer();
    const { name } = await customer.namespace();
    await race(async () => {
      const key = { 'idempotency-key': newName() };
      const record = { key: `${newName()}.${name}.v1`, data: 'aGk=' };
      await customer.record(record.key);
      return {
        // Its key is taken, unless the deletion comes first.
        left: (at) => at.caller(customer.token).send('POST', '/records', { record }, key),
        right: async (at) => {
          await at.caller(customer.token).post('/records/bulk', { delete: [record.key] });
          return at.caller(customer.token).send('POST', '/records', { record }, key);
        },
        async check(left, right) {
          assert.equal(right.status, 201, right.text);
          if (left.status === 201) assert.equal(left.text, right.text);
          else assert.equal(left.status, 422, left.text);
          const rows = await query(store.read, 'select id from records where key = :key', record);
          assert.equal(rows.length, 1);
        },
      };
    });
  },
});
