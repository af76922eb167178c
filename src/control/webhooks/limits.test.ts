import assert from 'node:assert/strict';
import { setWebhook } from '../../../test/support/control/webhooks/rows.ts';
import { apiScenarios } from '../../../test/support/http/engines.ts';
import { type Answer, assertFailure, created, openWorld, WEBHOOK } from '../../../test/support/http/world.ts';
import { LIMITS, TIERS, type Tier } from '../../base/limits.ts';
import { memoryLimiter } from '../../http/limiter.ts';
import { findUserByEmail, updateTier } from '../../store/accounts.ts';
import type { Store } from '../../store/store.ts';

const FULL = 'Webhook limit of the account reached';
const UNPAID = 'Webhooks need a paid tier, which the operator gives with: uqrp user tier EMAIL pro';

/** Room for the writes of these tests; what is tested are the budgets of a webhook. */
const limiter = (clock: () => number) => {
  const budgets = memoryLimiter(clock);
  return {
    take: (...[budget, key]: Parameters<typeof budgets.take>) =>
      budget === 'writes' ? 0 : budgets.take(budget, key),
    used: () => null,
    giveBack: (...it: Parameters<typeof budgets.giveBack>) => budgets.giveBack(...it),
  };
};

async function moveTo(store: Store, email: string, tier: Tier): Promise<void> {
  const user = await findUserByEmail(store.read, email);
  assert.ok(user !== null);
  await store.write((tx) => updateTier(tx, user.id, tier));
}

function assertThrottled(answer: Answer, retryAfter: string): void {
  assertFailure(answer, 429, 'rate_limit_exceeded', 'Rate limit exceeded');
  assert.equal(answer.headers['retry-after'], retryAfter);
}

apiScenarios('webhooks, limits', {
  'the number of webhooks by tier, both sides, and many at once': async (store) => {
    const world = await openWorld(store);
    for (const tier of ['pro', 'team', 'enterprise'] as const) {
      const customer = await world.customer(tier);
      const quota = TIERS[tier].webhooks;
      const make = () => customer.post('/webhooks', { webhook: WEBHOOK });
      for (let i = 0; i < quota - 2; i++) created(await make());
      const answers = await Promise.all(Array.from({ length: 8 }, make));
      assert.equal(answers.filter(({ status }) => status === 201).length, 2);
      for (const answer of answers.filter(({ status }) => status !== 201)) {
        assertFailure(answer, 422, 'quota_exceeded', FULL);
      }
      const list = (await customer.get('/webhooks')).json;
      assert.equal(list.length, quota);
      await customer.del(`/webhooks/${list[0].id}`);
      created(await make());
      assertFailure(await make(), 422, 'quota_exceeded', FULL);
    }
    await world.close();
  },

  'none without a paid tier': async (store) => {
    const world = await openWorld(store);
    const customer = await world.customer('free');
    for (const webhook of [WEBHOOK, {}]) {
      assertFailure(await customer.post('/webhooks', { webhook }), 422, 'quota_exceeded', UNPAID);
    }
    assert.deepEqual((await customer.get('/webhooks')).json, []);
    await world.close();
  },

  'after a downgrade webhooks can be seen, changed and deleted, not switched on or tested': async (store) => {
    const world = await openWorld(store);
    const customer = await world.customer('team');
    const made = [];
    for (let i = 0; i < 7; i++) made.push(await customer.webhook());
    const patch = (id: string, webhook: object) => customer.patch(`/webhooks/${id}`, { webhook });
    await moveTo(store, customer.email, 'pro');
    const [{ id }, second] = made;
    assert.equal((await patch(id, { enabled: false })).status, 200);
    assertFailure(await patch(id, { enabled: true }), 422, 'quota_exceeded', FULL);
    // Enabling an enabled webhook has no effect.
    assert.equal((await patch(second.id, { enabled: true })).status, 200);
    assert.equal((await patch(id, { name: 'x' })).status, 200);
    assert.equal((await customer.post(`/webhooks/${id}/test`)).status, 200);
    assertFailure(await customer.post('/webhooks', { webhook: WEBHOOK }), 422, 'quota_exceeded', FULL);
    for (const one of made.slice(5)) await customer.del(`/webhooks/${one.id}`);
    assert.equal((await patch(id, { enabled: true })).status, 200);

    await moveTo(store, customer.email, 'free');
    await setWebhook(store, id, { enabled: 0 });
    assertFailure(await patch(id, { enabled: true }), 422, 'quota_exceeded', UNPAID);
    assertFailure(await customer.post(`/webhooks/${id}/test`), 422, 'quota_exceeded', UNPAID);
    assert.equal((await patch(id, { name: 'y', enabled: false })).status, 200);
    assert.equal((await customer.post(`/webhooks/${id}/regenerate_secret`)).status, 200);
    assert.equal((await customer.get(`/webhooks/${id}/deliveries`)).status, 200);
    assert.equal((await customer.del(`/webhooks/${id}`)).status, 204);
    assert.equal(world.network.sent.length, 1);
    await world.close();
  },

  'new secrets and tests have budgets of each webhook': async (store) => {
    const world = await openWorld(store, { limiter });
    const [customer, other] = [await world.customer(), await world.customer()];
    const [one, two] = [await customer.webhook(), await customer.webhook()];
    for (const [action, limit, length] of [
      ['regenerate_secret', LIMITS.webhookSecretsPerHour, 3600],
      ['test', LIMITS.webhookTestsPerMinute, 60],
    ] as const) {
      const path = `/webhooks/${one.id}/${action}`;
      // No other customer or credential uses this budget.
      for (let i = 0; i < limit; i++) assertFailure(await other.post(path), 404, 'not_found');
      const key = await customer.key();
      for (let i = 0; i < limit; i++) assert.equal((await (i === 0 ? key : customer).post(path)).status, 200);
      assertThrottled(await customer.post(path), String(length));
      assertThrottled(await key.post(path), String(length));
      assert.equal((await customer.post(`/webhooks/${two.id}/${action}`)).status, 200);
      world.advance(length * 1000 - 1);
      assertThrottled(await customer.post(path), '1');
      world.advance(1);
      assert.equal((await customer.post(path)).status, 200);
    }
    await world.close();
  },
});
