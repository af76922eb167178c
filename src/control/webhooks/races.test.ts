import assert from 'node:assert/strict';
import { raceScenarios } from '../../../test/support/http/two-processes.ts';
import { type Customer, newName, WEBHOOK, type World } from '../../../test/support/http/world.ts';
import { assertAgrees } from '../../../test/support/store/agreement.ts';
import { claim, RIGHT, SCHEDULE, WRONG } from '../../../test/support/store/dispatch-units.ts';
import { testFanout } from '../../../test/support/store/fan-out-world.ts';
import { findRows, oneRow, updateRows } from '../../../test/support/store/rows.ts';
import { LIMITS } from '../../base/limits.ts';
import type { Store } from '../../store/store.ts';
import { type DeliveryAttempt, settleAttempt } from './attempts.ts';
import type { AttemptResult } from './send-attempt.ts';

const fanOut = (at: World, rows?: number): Promise<unknown> =>
  testFanout(at.deps.store, {
    clock: at.now,
    newId: at.deps.newId,
    ...(rows === undefined ? {} : { limits: { rows } }),
  }).pass(false);

const claimed = (at: World, name: string): Promise<readonly DeliveryAttempt[]> =>
  claim(at.deps.store, { now: at.now(), claim: name });

const settled = (at: World, attempt: DeliveryAttempt, result: AttemptResult = RIGHT, goOn = false) =>
  at.deps.store.write((tx) =>
    settleAttempt(tx, attempt, result, {
      now: at.now(),
      leaseMs: 15_000,
      schedule: SCHEDULE,
      random: 0.5,
      goOn,
    }),
  );

const deliveriesOf = (store: Store, id: string) =>
  findRows(store.read, 'webhook_deliveries', { where: { webhook_id: id }, order: 'seq' });

/** A webhook of a new customer, and a record that it is to be told of. */
async function hooked(world: World): Promise<{ customer: Customer; id: string; namespace: string }> {
  const customer = await world.customer();
  const { name } = await customer.namespace();
  const { id } = await customer.webhook();
  await customer.record(`${newName()}.${name}.v1`);
  return { customer, id, namespace: name };
}

raceScenarios('webhooks, in two processes', {
  'two fan-outs tell of each event once': async ({ world, store, race }) => {
    await race(async () => {
      const { customer, id, namespace } = await hooked(world);
      await customer.record(`${newName()}.${namespace}.v1`);
      return {
        left: (at) => fanOut(at),
        right: (at) => fanOut(at),
        async check() {
          assert.equal((await deliveriesOf(store, id)).length, 2);
        },
      };
    });
  },

  'two fan-outs tell a customer who is behind of each event once, in order': async ({
    world,
    store,
    race,
  }) => {
    await race(async () => {
      const { customer, id, namespace } = await hooked(world);
      const body = (key: string) => ({ record: { key: `${key}.doc.${namespace}.v1`, data: '' } });
      for (const key of ['a', 'b']) await customer.record(body(key).record.key);
      return {
        left: (at) => fanOut(at, 2),
        async right(at) {
          await at.caller(customer.token).post('/records', body('c'));
          await fanOut(at, 2);
        },
        async check() {
          await fanOut(world);
          const bodies = (await deliveriesOf(store, id)).map(({ body: told }) => String(Buffer.from(told!)));
          const keys = bodies.map((told) => (JSON.parse(told) as { data: { key: string } }).data.key[0]);
          assert.deepEqual(keys.slice(1), ['a', 'b', 'c']);
        },
      };
    });
  },

  'a webhook tells of every record that is made after its own creation was answered': async ({
    world,
    store,
    race,
  }) => {
    await race(async () => {
      const customer = await world.customer();
      const { name } = await customer.namespace();
      const record = () => ({ record: { key: `${newName()}.${name}.v1`, data: '' } });
      return {
        left: async (at) => {
          const { json } = await at.caller(customer.token).post('/webhooks', { webhook: WEBHOOK });
          const made = await at.caller(customer.token).post('/records', record());
          return { id: json.id as string, key: made.json.key as string };
        },
        right: async (at) => {
          await at.caller(customer.token).post('/records', record());
          await fanOut(at);
        },
        async check({ id, key }) {
          await fanOut(world);
          const bodies = (await deliveriesOf(store, id)).map(({ body }) => String(Buffer.from(body!)));
          assert.equal(bodies.filter((body) => body.includes(key)).length, 1);
        },
      };
    });
  },

  'nothing waits for a webhook that was disabled or deleted beside the fan-out': async ({
    world,
    store,
    race,
  }) => {
    for (const method of ['PATCH', 'DELETE'] as const) {
      await race(async () => {
        const { customer, id } = await hooked(world);
        const off = { webhook: { enabled: false } };
        return {
          left: (at) => fanOut(at),
          right: (at) =>
            at.caller(customer.token).send(method, `/webhooks/${id}`, method === 'PATCH' ? off : undefined),
          async check(_, { status }) {
            assert.equal(status, method === 'PATCH' ? 200 : 204);
            const { next_due_at, enabled } = await oneRow(store.read, 'webhooks', { where: { id } });
            assert.deepEqual([enabled, next_due_at], [0, null]);
            const waiting = (await deliveriesOf(store, id)).filter((row) => row.status === 'pending');
            // Those of a webhook that is deleted go with it.
            if (method === 'PATCH') assert.deepEqual(waiting, []);
          },
        };
      });
    }
  },

  'events that a webhook no longer wants do not wait for it': async ({ world, store, race }) => {
    await race(async () => {
      const { customer, id } = await hooked(world);
      const fewer = { webhook: { events: ['record.deleted'] } };
      return {
        left: (at) => fanOut(at),
        right: (at) => at.caller(customer.token).patch(`/webhooks/${id}`, fewer),
        async check(_, { status }) {
          assert.equal(status, 200);
          const waiting = (await deliveriesOf(store, id)).filter((row) => row.status === 'pending');
          assert.deepEqual(waiting, []);
        },
      };
    });
  },

  'a delivery is leased to one of two dispatchers': async ({ world, race }) => {
    await race(async () => {
      const { id } = await hooked(world);
      await fanOut(world);
      return {
        left: (at) => claimed(at, 'left'),
        right: (at) => claimed(at, 'right'),
        async check(...both) {
          const attempts = both.flat().filter(({ webhookId }) => webhookId === id);
          assert.equal(attempts.length, 1);
          await settled(world, attempts[0]!);
        },
      };
    });
  },

  'a result is written once, and what comes with it waits': async ({ world, store, race }) => {
    for (const result of [RIGHT, WRONG]) {
      await race(async () => {
        const { customer, id, namespace } = await hooked(world);
        await fanOut(world);
        const [attempt] = await claimed(world, newName());
        await customer.record(`${newName()}.${namespace}.v1`);
        return {
          left: (at) => settled(at, attempt!, result),
          right: (at) => fanOut(at),
          async check() {
            const [first, second] = await deliveriesOf(store, id);
            assert.equal(first!.status, result.error === null ? 'succeeded' : 'pending');
            assert.equal(second!.status, 'pending');
            await assertAgrees(store, world.now());
            await customer.del(`/webhooks/${id}`);
          },
        };
      });
    }
  },

  'an attempt at the URL from before a PATCH neither disables nor proves the webhook at its new URL': async ({
    world,
    store,
  }) => {
    for (const result of [WRONG, RIGHT]) {
      const { customer, id } = await hooked(world);
      await fanOut(world);
      const [attempt] = await claimed(world, newName());
      const failing = { failure_count: LIMITS.webhookFailures - 1, last_attempt_ms: 5 };
      await store.write((tx) => updateRows(tx, 'webhooks', failing, { id }));
      const { json } = await customer.patch(`/webhooks/${id}`, {
        webhook: { url: 'https://new.example.com/in' },
      });
      assert.equal((await settled(world, attempt!, result))!.isDisabled, false);
      assert.deepEqual((await customer.get(`/webhooks/${id}`)).json, json);
      const row = await oneRow(store.read, 'webhooks', { where: { id } });
      assert.partialDeepStrictEqual(row, { ...failing, enabled: 1, rests_until: 0, claim: null });
      // The delivery itself has its result, and goes to the new URL where that was a failure.
      const [delivery] = await deliveriesOf(store, id);
      assert.deepEqual(
        [delivery!.status, delivery!.error, delivery!.attempts],
        result.error === null ? ['succeeded', null, 1] : ['pending', 'http_status', 1],
      );
      await assertAgrees(store, world.now());
      await customer.del(`/webhooks/${id}`);
    }
  },

  'a new secret is kept beside a delivery that ends, and so is its end': async ({ world, store, race }) => {
    await race(async () => {
      const { customer, id, namespace } = await hooked(world);
      await customer.record(`${newName()}.${namespace}.v1`);
      await fanOut(world);
      const [attempt] = await claimed(world, newName());
      const before = await oneRow(store.read, 'webhooks', { where: { id } });
      return {
        left: (at) => settled(at, attempt!, RIGHT, true),
        right: (at) => at.caller(customer.token).post(`/webhooks/${id}/regenerate_secret`),
        async check(result, { status }) {
          assert.equal(status, 200);
          const { signing_secret, secret_digest, claimed_delivery } = await oneRow(store.read, 'webhooks', {
            where: { id },
          });
          assert.notDeepEqual(signing_secret, before.signing_secret);
          assert.notEqual(secret_digest, before.secret_digest);
          assert.equal(claimed_delivery, result!.next!.deliveryId);
          assert.equal((await deliveriesOf(store, id))[0]!.status, 'succeeded');
          await settled(world, result!.next!);
        },
      };
    });
  },

  'a delivery that ends beside the end of its webhook starts no other': async ({ world, store, race }) => {
    await race(async () => {
      const { customer, id, namespace } = await hooked(world);
      await customer.record(`${newName()}.${namespace}.v1`);
      await fanOut(world);
      const [attempt] = await claimed(world, newName());
      return {
        left: (at) => settled(at, attempt!, RIGHT, true),
        right: (at) => at.caller(customer.token).patch(`/webhooks/${id}`, { webhook: { enabled: false } }),
        async check(_, { status }) {
          assert.equal(status, 200);
          const { claim: lease, next_due_at } = await oneRow(store.read, 'webhooks', { where: { id } });
          assert.deepEqual([lease, next_due_at], [null, null]);
        },
      };
    });
  },

  'a delivery that is sent again beside the fan-out has its turn': async ({ world, store, race }) => {
    await race(async () => {
      const { customer, id, namespace } = await hooked(world);
      await fanOut(world);
      const [attempt] = await claimed(world, newName());
      await settled(world, attempt!, WRONG);
      const [failed] = await deliveriesOf(store, id);
      await customer.record(`${newName()}.${namespace}.v1`);
      const path = `/webhooks/${id}/deliveries/${failed!.id}/redeliver`;
      return {
        left: (at) => at.caller(customer.token).post(path),
        right: (at) => fanOut(at),
        async check() {
          const rows = await deliveriesOf(store, id);
          assert.equal(rows.filter(({ status }) => status === 'pending').length, 2);
          await customer.del(`/webhooks/${id}`);
        },
      };
    });
  },
});
