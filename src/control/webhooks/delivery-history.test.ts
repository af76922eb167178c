import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { addDeliveries } from '../../../test/support/control/webhooks/rows.ts';
import { apiScenarios } from '../../../test/support/http/engines.ts';
import { assertFailure, type Caller, type Json, openWorld } from '../../../test/support/http/world.ts';
import { deleteRows } from '../../../test/support/store/rows.ts';
import type { WebhookDeliveriesTable } from '../../store/webhooks/deliveries.ts';

const CURSOR = 'cursor is not a cursor of this listing';
const LIMIT = 'limit is not a number from 1 to 100';
const ORDER = 'order is not one of created, attempted';
const STATUS = 'status is not one of pending, succeeded, failed, dropped';

const UNREADABLE: readonly (readonly [string, string])[] = [
  ['limit=0', LIMIT],
  ['limit=101', LIMIT],
  ['limit=-1', LIMIT],
  ['limit=1.5', LIMIT],
  ['limit=', LIMIT],
  ['status=', STATUS],
  ['status=done', STATUS],
  ['order=', ORDER],
  ['order=oldest', ORDER],
  ['order=attempted&status=failed', 'order is not for deliveries of a status'],
  ['cursor=', CURSOR],
  ['cursor=e30', CURSOR],
  ['cursor=%7B%7D', CURSOR],
  ['cursor=AAAA', CURSOR],
  ['status=pending&status=failed', 'status is given more than once'],
  ['event=record.upserted', 'event is not a known parameter'],
  ['%00=x', 'parameter 1 is not a known parameter'],
];

const LINK = /^<https:\/\/api\.example\.test\/api\/v1(\/[^>]+)>; rel="next"$/;

/** Every page in turn, by the link; the cursor in the body must lead to the same place. */
async function walk(caller: Caller, path: string): Promise<Json[][]> {
  const pages: Json[][] = [];
  for (let at: string | null = path; at !== null; ) {
    const { status, json, text, headers } = await caller.get(at);
    assert.equal(status, 200, text);
    assert.deepEqual(Object.keys(json), ['deliveries', 'meta']);
    assert.deepEqual(Object.keys(json.meta), ['limit', 'next_cursor', 'has_more']);
    const link = LINK.exec(typeof headers.link === 'string' ? headers.link : '');
    assert.equal(json.meta.has_more, link !== null);
    const cursor = link && new URLSearchParams(link[1]!.split('?')[1]).get('cursor');
    assert.equal(json.meta.next_cursor, cursor);
    pages.push(json.deliveries);
    at = link?.[1] ?? null;
  }
  return pages;
}

/** The order that the API promises: newest first, and by id where times are equal. */
function expectedOrder(rows: readonly Pick<WebhookDeliveriesTable, 'id' | 'created_at'>[]): string[] {
  const sorted = [...rows].sort((a, b) => b.created_at - a.created_at || (a.id < b.id ? 1 : -1));
  return sorted.map(({ id }) => id);
}

const idsOf = (deliveries: readonly Json[]): string[] => deliveries.map(({ id }) => id);

apiScenarios('webhooks, history', {
  'a delivery as it is shown': async (store) => {
    const world = await openWorld(store);
    const customer = await world.customer();
    const { id } = await customer.webhook();
    const at = world.now();
    const [, waiting] = [
      await addDeliveries(store, id, 1, () => ({
        status: 'failed',
        event: 'namespace.deleted',
        seq: 7,
        response_code: 503,
        error: 'http_status',
        attempts: 5,
        duration_ms: 41,
        last_attempt_at: at + 9000,
      })),
      await addDeliveries(store, id, 1, () => ({ created_at: at + 1, next_attempt_at: at + 5000 })),
    ];
    const { json, headers } = await customer.get(`/webhooks/${id}/deliveries`);
    assert.deepEqual(json.meta, { limit: 50, next_cursor: null, has_more: false });
    assert.equal(headers.link, undefined);
    assert.equal(json.deliveries[0].id, waiting[0]);
    assert.equal(json.deliveries[0].next_attempt_at, '2026-01-01T00:00:05.000Z');
    assert.deepEqual(json.deliveries[1], {
      id: json.deliveries[1].id,
      event: 'namespace.deleted',
      seq: 7,
      status: 'failed',
      response_code: 503,
      error: 'http_status',
      attempts: 5,
      duration_ms: 41,
      created_at: '2026-01-01T00:00:00.000Z',
      last_attempt_at: '2026-01-01T00:00:09.000Z',
      next_attempt_at: null,
    });
    assert.equal((await customer.send('HEAD', `/webhooks/${id}/deliveries`)).status, 200);
    await world.close();
  },

  '250 deliveries of one moment: pages put together are the whole': async (store) => {
    const world = await openWorld(store);
    const customer = await world.customer();
    const { id } = await customer.webhook();
    const at = world.now();
    const rows = Array.from({ length: 252 }, (_, i) => ({
      id: randomUUID(),
      // One before and one after the rest.
      created_at: i === 0 ? at - 1 : i === 251 ? at + 1 : at,
      status: i % 3 === 0 ? ('failed' as const) : ('pending' as const),
    }));
    await addDeliveries(store, id, rows.length, (i) => rows[i]!);
    const whole = expectedOrder(rows);
    for (const limit of [1, 7, 50, 63, 84, 100]) {
      const pages = await walk(customer, `/webhooks/${id}/deliveries?limit=${limit}`);
      assert.deepEqual(idsOf(pages.flat()), whole, `limit ${limit}`);
      assert.equal(pages.length, Math.ceil(rows.length / limit));
    }
    assert.deepEqual(idsOf((await walk(customer, `/webhooks/${id}/deliveries`)).flat()), whole);
    for (const status of ['failed', 'pending'] as const) {
      const pages = await walk(customer, `/webhooks/${id}/deliveries?limit=20&status=${status}`);
      assert.deepEqual(idsOf(pages.flat()), expectedOrder(rows.filter((row) => row.status === status)));
      assert.ok(pages.flat().every((delivery) => delivery.status === status));
    }
    for (const status of ['succeeded', 'dropped']) {
      assert.deepEqual(await walk(customer, `/webhooks/${id}/deliveries?status=${status}`), [[]]);
    }
    await world.close();
  },

  'those that wait for their first attempt can come last, the next one first': async (store) => {
    const world = await openWorld(store);
    const customer = await world.customer();
    const { id } = await customer.webhook();
    const at = world.now();
    // As with an endpoint that fails: three were attempted, twenty wait, one of them was dropped.
    const ids = await addDeliveries(store, id, 24, (i) => {
      const made = { created_at: at + i, next_attempt_at: at + 1000 * (30 - i) };
      if (i < 2) return { ...made, attempts: 1, last_attempt_at: at + 50 };
      if (i === 2)
        return { ...made, attempts: 5, last_attempt_at: at + 50, status: 'failed', next_attempt_at: null };
      if (i === 23) return { ...made, status: 'dropped', next_attempt_at: null };
      return made;
    });
    const expected = [ids[23], ids[2], ids[1], ids[0], ...ids.slice(3, 23).reverse()];
    for (const limit of [1, 3, 4, 5, 24, 100]) {
      const pages = await walk(customer, `/webhooks/${id}/deliveries?order=attempted&limit=${limit}`);
      assert.deepEqual(idsOf(pages.flat()), expected, `limit ${limit}`);
    }
    await world.close();
  },

  'a page stays in its place while newer deliveries come and old ones go': async (store) => {
    const world = await openWorld(store);
    const customer = await world.customer();
    const { id } = await customer.webhook();
    const at = world.now();
    const ids = await addDeliveries(store, id, 6, (i) => ({ created_at: at + i }));
    const path = `/webhooks/${id}/deliveries?limit=2`;
    const first = (await customer.get(path)).json;
    assert.deepEqual(idsOf(first.deliveries), [ids[5], ids[4]]);
    await addDeliveries(store, id, 3, (i) => ({ created_at: at + 100 + i }));
    // The row that the cursor was made of is gone as well.
    for (const gone of [ids[4]!, ids[2]!]) {
      await store.write((tx) => deleteRows(tx, 'webhook_deliveries', { id: gone }));
    }
    const next = (await customer.get(`${path}&cursor=${first.meta.next_cursor}`)).json;
    assert.deepEqual(idsOf(next.deliveries), [ids[3], ids[1]]);
    await world.close();
  },

  'a cursor belongs to its webhook and its filter': async (store) => {
    const world = await openWorld(store);
    const customer = await world.customer();
    const [one, two] = [await customer.webhook(), await customer.webhook()];
    for (const { id } of [one, two]) await addDeliveries(store, id, 3, () => ({}));
    const path = `/webhooks/${one.id}/deliveries`;
    const { next_cursor: cursor } = (await customer.get(`${path}?limit=1`)).json.meta;
    assert.equal((await customer.get(`${path}?cursor=${cursor}`)).json.deliveries.length, 2);
    for (const at of [
      `${path}?cursor=${cursor}&status=pending`,
      `${path}?cursor=${cursor}&order=attempted`,
      `/webhooks/${two.id}/deliveries?cursor=${cursor}`,
      `${path}?cursor=${cursor.slice(0, -2)}`,
      `${path}?cursor=${cursor}AA`,
    ]) {
      assertFailure(await customer.get(at), 400, 'validation_error', CURSOR);
    }
    await world.close();
  },

  'parameters that cannot be read are 400 and named': async (store) => {
    const world = await openWorld(store);
    const customer = await world.customer();
    const { id } = await customer.webhook();
    for (const [query, message] of UNREADABLE) {
      const answer = await customer.get(`/webhooks/${id}/deliveries?${query}`);
      assertFailure(answer, 400, 'validation_error', message);
    }
    for (const limit of [1, 100]) {
      const answer = await customer.get(`/webhooks/${id}/deliveries?limit=${limit}`);
      assert.deepEqual(answer.json.meta, { limit, next_cursor: null, has_more: false });
    }
    await world.close();
  },
});
