import assert from 'node:assert/strict';
import { setWebhook, storedDeliveries, storedWebhook } from '../../../test/support/control/webhooks/rows.ts';
import { apiScenarios } from '../../../test/support/http/engines.ts';
import { faultOfDelivery } from '../../../test/support/http/openapi/delivery-check.ts';
import { assertFailure, openWorld } from '../../../test/support/http/world.ts';
import { findRows } from '../../../test/support/store/rows.ts';
import { DELIVERY_ERRORS } from '../../protocol/webhooks.ts';
import { AttemptInterruptedError, type AttemptResult } from './send-attempt.ts';

const RESULTS: readonly AttemptResult[] = [
  { error: null, responseCode: 200, durationMs: 12, retryAfter: null },
  { error: 'http_status', responseCode: 500, durationMs: 3, retryAfter: 120 },
  { error: 'redirect', responseCode: 302, durationMs: 3, retryAfter: null },
  { error: 'timeout', responseCode: null, durationMs: 5000, retryAfter: null },
  ...DELIVERY_ERRORS.map((error) => ({ error, responseCode: null, durationMs: 0, retryAfter: null })),
];

apiScenarios('webhooks, tests', {
  'a test is one signed attempt, told as it went': async (store) => {
    const world = await openWorld(store);
    const customer = await world.customer();
    const { id, url, signing_secret } = await customer.webhook({ name: 'Ünï "quoted"' });
    for (const result of RESULTS) {
      world.advance(1000);
      world.network.attempt = async () => result;
      const answer = await customer.post(`/webhooks/${id}/test`);
      assert.equal(answer.status, 200, answer.text);
      assert.deepEqual(Object.keys(answer.json), ['delivery']);
      const { delivery } = answer.json;
      const at = new Date(world.now()).toISOString();
      assert.deepEqual(delivery, {
        id: delivery.id,
        event: 'webhook.test',
        seq: null,
        status: result.error === null ? 'succeeded' : 'failed',
        response_code: result.responseCode,
        error: result.error,
        attempts: 1,
        duration_ms: result.durationMs,
        created_at: at,
        last_attempt_at: at,
        next_attempt_at: null,
      });
      const sent = world.network.sent.at(-1)!;
      assert.deepEqual(
        { ...sent, body: null },
        { url, signingSecret: signing_secret, deliveryId: delivery.id, event: 'webhook.test', body: null },
      );
      assert.equal(faultOfDelivery(Buffer.from(sent.body).toString('utf8')), null);
      assert.deepEqual(JSON.parse(Buffer.from(sent.body).toString('utf8')), {
        event: 'webhook.test',
        timestamp: at,
        data: { message: 'This is a test delivery.', webhook_id: id, webhook_name: 'Ünï "quoted"' },
      });
      const [newest] = (await customer.get(`/webhooks/${id}/deliveries?limit=1`)).json.deliveries;
      assert.deepEqual(newest, delivery);
    }
    assert.equal(world.network.sent.length, RESULTS.length);
    assert.ok((await storedDeliveries(store, id)).every(({ body }) => body === null));
    await world.close();
  },

  'it moves nothing that real deliveries count': async (store) => {
    const world = await openWorld(store);
    const customer = await world.customer();
    const { id } = await customer.webhook();
    await setWebhook(store, id, {
      failure_count: 19,
      rests_until: world.now() + 60_000,
      last_triggered_at: 5,
    });
    for (const enabled of [1, 0]) {
      await setWebhook(store, id, { enabled });
      const before = await storedWebhook(store, id);
      for (const error of [null, 'timeout'] as const) {
        world.network.attempt = async () => ({ error, responseCode: null, durationMs: 1, retryAfter: null });
        assert.equal((await customer.post(`/webhooks/${id}/test`)).status, 200);
      }
      assert.deepEqual(await storedWebhook(store, id), before);
    }
    const counter = await findRows(store.read, 'event_counters', { where: { customer_id: customer.id } });
    assert.deepEqual(counter, []);
    await world.close();
  },

  'a test during which the outbound thread ends is sent again, three times at most': async (store) => {
    const world = await openWorld(store);
    const customer = await world.customer();
    const { id } = await customer.webhook();
    const end = { interruptions: 2 };
    world.network.attempt = async () => {
      if (end.interruptions-- > 0) throw new AttemptInterruptedError();
      return { error: null, responseCode: 204, durationMs: 7, retryAfter: null };
    };
    const answer = await customer.post(`/webhooks/${id}/test`);
    assert.equal(answer.status, 200, answer.text);
    assert.deepEqual([answer.json.delivery.status, answer.json.delivery.attempts], ['succeeded', 1]);
    const ids = world.network.sent.map(({ deliveryId }) => deliveryId);
    assert.deepEqual(
      ids,
      Array.from({ length: 3 }, () => answer.json.delivery.id),
    );
    end.interruptions = 3;
    assertFailure(await customer.post(`/webhooks/${id}/test`), 500, 'server_error', 'Server error');
    assert.deepEqual([world.network.sent.length, (await storedDeliveries(store, id)).length], [6, 1]);
    await world.close();
  },

  'a URL that is no longer allowed is not tried': async (store) => {
    const world = await openWorld(store);
    const customer = await world.customer();
    const { id, url } = await customer.webhook();
    const asked: string[] = [];
    world.network.checkUrl = async (text) => {
      asked.push(text);
      return 'url must not lead to a private address';
    };
    const answer = await customer.post(`/webhooks/${id}/test`);
    assertFailure(answer, 422, 'validation_error', ['url must not lead to a private address']);
    assert.deepEqual(asked, [url]);
    assert.deepEqual([world.network.sent.length, (await storedDeliveries(store, id)).length], [0, 0]);
    await world.close();
  },

  'while an endpoint is waited for, others write, and the webhook may go': async (store) => {
    const world = await openWorld(store);
    const customer = await world.customer();
    const [one, two] = [await customer.webhook(), await customer.webhook()];
    const { promise: answered, resolve: answer } = Promise.withResolvers<AttemptResult>();
    const { promise: all, resolve: begun } = Promise.withResolvers<void>();
    world.network.attempt = () => {
      if (world.network.sent.length === 20) begun();
      return answered;
    };
    // More than the connections of a pool.
    const tests = Array.from({ length: 20 }, (_, i) =>
      customer.post(`/webhooks/${i < 10 ? one.id : two.id}/test`),
    );
    await all;
    await customer.namespace();
    assert.equal((await customer.patch(`/webhooks/${one.id}`, { webhook: { name: 'x' } })).status, 200);
    assert.equal((await customer.del(`/webhooks/${two.id}`)).status, 204);
    answer({ error: null, responseCode: 200, durationMs: 9, retryAfter: null });
    const answers = await Promise.all(tests);
    for (const [i, it] of answers.entries()) {
      if (i < 10) assert.equal(it.status, 200);
      else assertFailure(it, 404, 'not_found', 'Webhook not found');
    }
    assert.equal((await storedDeliveries(store, one.id)).length, 10);
    assert.deepEqual(world.errors, []);
    await world.close();
  },

  'names are resolved before a unit of work begins': async (store) => {
    const world = await openWorld(store);
    const customer = await world.customer();
    const { id } = await customer.webhook();
    const { promise: lookup, resolve: endLookup } = Promise.withResolvers<null>();
    const { promise: both, resolve: begun } = Promise.withResolvers<void>();
    let asked = 0;
    world.network.checkUrl = () => {
      asked += 1;
      if (asked === 2) begun();
      return lookup;
    };
    const patch = customer.patch(`/webhooks/${id}`, { webhook: { url: 'https://slow.example/' } });
    const create = customer.webhook({ url: 'https://slow.example/' });
    await both;
    // Neither holds the customer, the webhook or the only writer.
    const quick = await customer.patch(`/webhooks/${id}`, { webhook: { name: 'quick' } });
    assert.equal(quick.status, 200);
    endLookup(null);
    const patched = await patch;
    assert.deepEqual([patched.json.name, patched.json.url], ['quick', 'https://slow.example/']);
    await create;
    await world.close();
  },
});
