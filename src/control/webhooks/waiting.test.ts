import assert from 'node:assert/strict';
import {
  addDeliveries,
  setWebhook,
  storedDeliveries,
  storedWebhook,
} from '../../../test/support/control/webhooks/rows.ts';
import { apiScenarios } from '../../../test/support/http/engines.ts';
import { assertFailure, openWorld } from '../../../test/support/http/world.ts';
import { claim, RIGHT, settle } from '../../../test/support/store/dispatch-units.ts';
import { LIMITS } from '../../base/limits.ts';
import type { WebhookEvent } from '../../protocol/webhooks.ts';
import type { WebhookDeliveriesTable } from '../../store/webhooks/deliveries.ts';

/** What a delivery that was ended without being sent has become. */
function assertEnded(row: WebhookDeliveriesTable): void {
  const { status, error, next_attempt_at, body } = row;
  assert.deepEqual([status, error, next_attempt_at, body], ['failed', 'webhook_disabled', null, null]);
}

const OF: readonly WebhookEvent[] = ['record.upserted', 'record.deleted', 'namespace.deleted'];

apiScenarios('webhooks, what waits', {
  'a webhook that is switched off sends nothing more of what waits': async (store) => {
    const world = await openWorld(store);
    const customer = await world.customer();
    const { id } = await customer.webhook();
    const other = await customer.webhook();
    const at = world.now();
    // More than two batches, with what has ended in between.
    await addDeliveries(store, id, 1201, (i) => ({
      seq: i,
      ...(i % 6 === 5
        ? { status: 'succeeded', response_code: 204, attempts: 1 }
        : { attempts: i % 3, next_attempt_at: at + i }),
    }));
    await addDeliveries(store, other.id, 1, () => ({}));
    await setWebhook(store, id, { next_due_at: at, claim: 'lease', claimed_until: at + 30_000 });
    const answer = await customer.patch(`/webhooks/${id}`, { webhook: { enabled: false } });
    assert.equal(answer.json.enabled, false);
    for (const row of await storedDeliveries(store, id)) {
      if (row.seq! % 6 === 5) assert.deepEqual([row.status, row.error], ['succeeded', null]);
      else {
        assertEnded(row);
        assert.equal(row.attempts, row.seq! % 3);
      }
    }
    const [untouched] = await storedDeliveries(store, other.id);
    assert.equal(untouched?.status, 'pending');
    const row = await storedWebhook(store, id);
    // The sender's result is dropped; no other worker starts before its lease would have ended.
    assert.deepEqual([row.enabled, row.next_due_at, row.claim], [0, null, null]);
    assert.equal(row.claimed_until, at + 30_000);
    await world.close();
  },

  'enabled again, it starts without failures': async (store) => {
    const world = await openWorld(store);
    const customer = await world.customer();
    const { id } = await customer.webhook();
    const at = world.now();
    const failing = { failure_count: 20, rests_until: at + 60_000, notice_due_at: at };
    await setWebhook(store, id, { ...failing, enabled: 0 });
    // Already off, and other changes leave the counters as they are.
    for (const webhook of [{ enabled: false }, { name: 'x' }]) {
      assert.equal((await customer.patch(`/webhooks/${id}`, { webhook })).json.failure_count, 20);
    }
    // Enqueued while the webhook was being disabled: more than a batch.
    await addDeliveries(store, id, 501, () => ({}));
    await setWebhook(store, id, { next_due_at: at });
    const on = await customer.patch(`/webhooks/${id}`, { webhook: { enabled: true } });
    assert.deepEqual([on.json.enabled, on.json.failure_count], [true, 0]);
    const row = await storedWebhook(store, id);
    assert.deepEqual([row.rests_until, row.notice_due_at, row.next_due_at], [0, null, null]);
    (await storedDeliveries(store, id)).forEach(assertEnded);
    // Already on: its failures in a row stay counted.
    await setWebhook(store, id, failing);
    const again = await customer.patch(`/webhooks/${id}`, { webhook: { enabled: true } });
    assert.equal(again.json.failure_count, 20);
    assert.equal((await storedWebhook(store, id)).rests_until, at + 60_000);
    await world.close();
  },

  'events that are no longer selected are not sent any more': async (store) => {
    const world = await openWorld(store);
    const customer = await world.customer();
    const { id } = await customer.webhook({ events: OF });
    const at = world.now();
    await addDeliveries(store, id, 6, (i) => ({ seq: i, event: OF[i % 3]!, next_attempt_at: at + i }));
    await setWebhook(store, id, { next_due_at: at, claim: 'lease', claimed_until: at + 30_000 });
    const waiting = async (): Promise<number[]> => {
      const rows = await storedDeliveries(store, id);
      for (const row of rows.filter(({ status }) => status !== 'pending')) assertEnded(row);
      return rows.filter(({ status, body }) => status === 'pending' && body !== null).map(({ seq }) => seq!);
    };
    for (const [events, left, due] of [
      [[...OF, 'namespace.upserted'], [0, 1, 2, 3, 4, 5], at],
      [['namespace.deleted', 'record.deleted'], [1, 2, 4, 5], at + 1],
      [['record.deleted'], [1, 4], at + 1],
      [['record.upserted', 'namespace.upserted'], [], null],
    ] as const) {
      const answer = await customer.patch(`/webhooks/${id}`, { webhook: { events } });
      assert.equal(answer.status, 200, answer.text);
      assert.deepEqual(await waiting(), left);
      const row = await storedWebhook(store, id);
      assert.deepEqual([row.next_due_at, row.claim, row.enabled], [due, 'lease', 1]);
    }
    await world.close();
  },

  'a narrowed webhook sends nothing of the namespaces that it lost, also not to a new URL (audit M1)': async (
    store,
  ) => {
    const world = await openWorld(store);
    const customer = await world.customer();
    const names = [(await customer.namespace()).name, (await customer.namespace()).name];
    const { id } = await customer.webhook({ events: [...OF, 'namespace.upserted'] });
    const at = world.now();
    // More than a page of bodies, of every event.
    const bodies = [
      ['record.upserted', (name: string) => ({ key: `a.${name}.v1`, namespace: name, data: 'c2VjcmV0' })],
      ['record.deleted', (name: string) => ({ key: `a.${name}.v1`, namespace: name })],
      ['namespace.upserted', (name: string) => ({ id: world.deps.newId(), name })],
      ['namespace.deleted', (name: string) => ({ namespace: name })],
    ] as const;
    await addDeliveries(store, id, 240, (i) => {
      const [event, data] = bodies[i % 4]!;
      const name = names[Math.floor(i / 4) % 2]!;
      return {
        seq: i,
        event,
        next_attempt_at: at + i,
        body: Buffer.from(JSON.stringify({ event, data: data(name) })),
      };
    });
    await setWebhook(store, id, { next_due_at: at, claim: 'lease', claimed_until: at + 30_000 });
    const waiting = async (): Promise<(number | null)[]> => {
      const rows = await storedDeliveries(store, id);
      for (const row of rows.filter(({ status }) => status !== 'pending')) assertEnded(row);
      return rows.filter(({ status }) => status === 'pending').map(({ seq }) => seq);
    };
    const patch = async (webhook: object): Promise<void> => {
      const answer = await customer.patch(`/webhooks/${id}`, { webhook });
      assert.equal(answer.status, 200, answer.text);
    };
    await patch({ scopes: { namespaces: names } });
    assert.equal((await waiting()).length, 240);
    await patch({ scopes: { namespaces: [] } });
    assert.equal((await waiting()).length, 240);
    await patch({ scopes: { namespaces: [names[1]] }, url: 'https://hooks.example.com/second' });
    const left = await waiting();
    assert.equal(left.length, 120);
    for (const seq of left) assert.equal(Math.floor(seq! / 4) % 2, 1);
    const row = await storedWebhook(store, id);
    assert.deepEqual([row.next_due_at, row.claim, row.enabled], [at + 4, 'lease', 1]);
    await patch({ scopes: { namespaces: [names[0]] }, events: ['record.deleted'] });
    assert.deepEqual(await waiting(), []);
    assert.equal((await storedWebhook(store, id)).next_due_at, null);
    await world.close();
  },

  'a new URL takes over what waits': async (store) => {
    const world = await openWorld(store);
    const customer = await world.customer();
    const { id } = await customer.webhook();
    await addDeliveries(store, id, 3, () => ({}));
    await setWebhook(store, id, { next_due_at: world.now() });
    await customer.patch(`/webhooks/${id}`, { webhook: { url: 'https://new.example/' } });
    assert.ok((await storedDeliveries(store, id)).every(({ status }) => status === 'pending'));
    const row = await storedWebhook(store, id);
    assert.deepEqual([row.url, row.next_due_at], ['https://new.example/', world.now()]);
    await world.close();
  },

  'what waits can be sent now': async (store) => {
    const world = await openWorld(store);
    const customer = await world.customer();
    const { id } = await customer.webhook();
    const at = world.now();
    const [late, due] = await addDeliveries(store, id, 2, (i) => ({
      seq: i,
      attempts: 2,
      next_attempt_at: i === 0 ? at + 1_800_000 : at - 5000,
    }));
    const resting = { rests_until: at + 60_000 };
    await setWebhook(store, id, { ...resting, next_due_at: at + 1_800_000 });
    const send = (delivery: string) => customer.post(`/webhooks/${id}/deliveries/${delivery}/redeliver`);
    const answer = await send(late!);
    assert.equal(answer.status, 200, answer.text);
    assert.deepEqual(Object.keys(answer.json), ['delivery']);
    const { delivery } = answer.json;
    assert.deepEqual([delivery.id, delivery.status, delivery.attempts], [late, 'pending', 2]);
    assert.equal(delivery.next_attempt_at, '2026-01-01T00:00:00.000Z');
    const state = async () => {
      const row = await storedWebhook(store, id);
      return [row.next_due_at, row.rests_until];
    };
    assert.deepEqual(await state(), [at, 0]);
    // A delivery that is due, or due earlier, keeps its time.
    await setWebhook(store, id, { ...resting, next_due_at: at - 5000 });
    assert.equal((await send(due!)).json.delivery.next_attempt_at, '2025-12-31T23:59:55.000Z');
    assert.deepEqual(await state(), [at - 5000, 0]);
    assert.ok((await storedDeliveries(store, id)).every(({ body }) => body !== null));
    await world.close();
  },

  'what waits for its retry is kept, and not sent now, while the webhook has had its attempts of an hour':
    async (store) => {
      const world = await openWorld(store);
      const customer = await world.customer();
      const { id } = await customer.webhook();
      const at = world.now();
      const [delivery] = await addDeliveries(store, id, 1, () => ({
        seq: 1,
        attempts: 2,
        next_attempt_at: at + 1_800_000,
      }));
      const minutes = JSON.stringify([[Math.floor(at / 60_000) - 50, LIMITS.webhookAttemptsPerHour]]);
      await setWebhook(store, id, { attempt_minutes: minutes, next_due_at: at + 1_800_000 });
      const before = await storedDeliveries(store, id);
      const send = () => customer.post(`/webhooks/${id}/deliveries/${delivery}/redeliver`);
      const refused = await send();
      assertFailure(refused, 429, 'rate_limit_exceeded', 'Webhook has had its attempts of an hour');
      const seconds = Number(refused.headers['retry-after']);
      assert.equal(seconds, Math.ceil(((Math.floor(at / 60_000) + 11) * 60_000 - at) / 1000));
      assert.deepEqual(await storedDeliveries(store, id), before);
      assert.equal((await storedWebhook(store, id)).next_due_at, at + 1_800_000);
      world.advance(seconds * 1000);
      assert.equal((await send()).status, 200);
      const [attempt] = await claim(store, { now: world.now(), ids: [id] });
      assert.equal(attempt?.deliveryId, delivery);
      await world.close();
    },

  'what waits for its retry is kept while others that are due need the last attempts of an hour (nine of ten redeliveries were dropped)':
    async (store) => {
      const world = await openWorld(store);
      const customer = await world.customer();
      const { id } = await customer.webhook();
      const at = world.now();
      const later = at + 7_200_000;
      const ids = await addDeliveries(store, id, 10, (i) => ({
        seq: i,
        attempts: 2,
        next_attempt_at: later,
      }));
      const minutes = JSON.stringify([[Math.floor(at / 60_000) - 50, LIMITS.webhookAttemptsPerHour - 1]]);
      await setWebhook(store, id, { attempt_minutes: minutes, next_due_at: later });
      const send = (delivery: string) => customer.post(`/webhooks/${id}/deliveries/${delivery}/redeliver`);
      const [first, ...others] = ids;
      assert.equal((await send(first!)).status, 200);
      for (const other of others) {
        const refused = await send(other);
        assertFailure(refused, 429, 'rate_limit_exceeded', 'Webhook has had its attempts of an hour');
        const seconds = Number(refused.headers['retry-after']);
        assert.equal(seconds, Math.ceil(((Math.floor(at / 60_000) + 11) * 60_000 - at) / 1000));
      }
      // The one that is due takes no attempt from itself.
      assert.equal((await send(first!)).status, 200);
      const [attempt] = await claim(store, { now: at, ids: [id] });
      assert.equal(attempt?.deliveryId, first);
      await settle(store, attempt!, RIGHT, { now: at, goOn: true });
      const rows = await storedDeliveries(store, id);
      assert.deepEqual(
        rows.map(({ status, next_attempt_at }) => [status, next_attempt_at]),
        ids.map((one) => (one === first ? ['succeeded', null] : ['pending', later])),
      );
      await world.close();
    },

  'what has ended cannot be sent again': async (store) => {
    const world = await openWorld(store);
    const customer = await world.customer();
    const { id } = await customer.webhook();
    for (const status of ['succeeded', 'failed', 'dropped'] as const) {
      const [delivery] = await addDeliveries(store, id, 1, () => ({ status }));
      assertFailure(
        await customer.post(`/webhooks/${id}/deliveries/${delivery}/redeliver`),
        422,
        'validation_error',
        ['delivery has ended and its body is erased'],
      );
    }
    assert.equal((await storedWebhook(store, id)).next_due_at, null);
    await world.close();
  },
});
