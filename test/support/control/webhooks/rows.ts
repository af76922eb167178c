import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import type { Store } from '../../../../src/store/store.ts';
import type { WebhookDeliveriesTable } from '../../../../src/store/webhooks/deliveries.ts';
import type { WebhookRow, WebhookUpdate } from '../../../../src/store/webhooks/webhooks.ts';
import { updateWebhook } from '../../../../src/store/webhooks/webhooks.ts';
import { findRows, firstRow, insertRows, oneRow, updateRows } from '../../store/rows.ts';

/** Rows in one insert. */
const CHUNK = 500;

/** Puts deliveries into a webhook's history as the fan-out would, with what `row` says of each. @returns their ids */
export async function addDeliveries(
  store: Store,
  webhookId: string,
  count: number,
  row: (index: number) => Partial<WebhookDeliveriesTable>,
): Promise<string[]> {
  const rows = Array.from({ length: count }, (_, index): WebhookDeliveriesTable => {
    const some = row(index);
    const waits = (some.status ?? 'pending') === 'pending';
    return {
      id: randomUUID(),
      webhook_id: webhookId,
      event: 'record.upserted',
      seq: index + 1,
      status: 'pending',
      response_code: null,
      error: null,
      attempts: 0,
      duration_ms: null,
      created_at: Date.UTC(2026, 0, 1),
      last_attempt_at: null,
      next_attempt_at: waits ? Date.UTC(2026, 0, 1) : null,
      body: waits ? Buffer.from(`{"payload":${index}}`) : null,
      ...some,
    };
  });
  for (let start = 0; start < count; start += CHUNK) {
    const some = rows.slice(start, start + CHUNK);
    await store.write((tx) => insertRows(tx, 'webhook_deliveries', some));
  }
  return rows.map(({ id }) => id);
}

/** The deliveries of a webhook as they are stored, in the order of their `seq`. */
export function storedDeliveries(store: Store, webhookId: string): Promise<WebhookDeliveriesTable[]> {
  return findRows(store.read, 'webhook_deliveries', { where: { webhook_id: webhookId }, order: 'seq' });
}

/** A webhook as it is stored. */
export async function storedWebhook(store: Store, id: string): Promise<WebhookRow> {
  const row = await firstRow(store.read, 'webhooks', { where: { id } });
  assert.ok(row !== undefined, 'the webhook is gone');
  return row;
}

/** Changes columns as the dispatcher would. */
export async function setWebhook(
  store: Store,
  id: string,
  change: WebhookUpdate &
    Partial<Pick<WebhookRow, 'attempt_minutes' | 'claimed_until' | 'last_triggered_at'>>,
): Promise<void> {
  await store.write(async (tx) => {
    const row = await oneRow(tx, 'webhooks', { where: { id } });
    await updateRows(tx, 'webhooks', change, { id });
    // Wakes the dispatchers.
    await updateWebhook(tx, { ...row, ...change }, change);
  });
}
