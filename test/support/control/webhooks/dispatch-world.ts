import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Tier } from '../../../../src/base/limits.ts';
import { insertUser } from '../../../../src/store/accounts.ts';
import type { Store, Tx } from '../../../../src/store/store.ts';
import type { WebhookDeliveriesTable } from '../../../../src/store/webhooks/deliveries.ts';
import { NEVER_SERVED, type WebhookRow } from '../../../../src/store/webhooks/webhooks.ts';
import type { TestDatabase } from '../../store/fixtures.ts';
import { databaseWithTables } from '../../store/postgres.ts';
import { postgresMissing } from '../../store/postgres-files.ts';
import { findRows, insertRows, oneRow, query } from '../../store/rows.ts';
import { sqliteDatabase } from '../../store/sqlite.ts';

/** Both engines, for scenarios that are the same on either. */
export const ENGINES: readonly {
  readonly name: string;
  readonly create: () => Promise<TestDatabase>;
  readonly skip: string | false;
}[] = [
  { name: 'SQLite', create: sqliteDatabase, skip: false },
  { name: 'PostgreSQL', create: databaseWithTables, skip: postgresMissing() ?? false },
];

/** Secrets stored in the clear. */
export const NO_ENCRYPTION = {
  decrypt: (_id: string, encrypted: Uint8Array): string => Buffer.from(encrypted).toString(),
};

export async function addCustomer(store: Store, name = 'acme', tier: Tier = 'pro'): Promise<string> {
  const id = randomUUID();
  const email = `${name}@example.org`;
  await store.write(async (tx) => {
    await insertUser(tx, { id, email, role: 'user', created_at: 1 }, tier);
  });
  return id;
}

/** @returns its id */
export async function addWebhook(
  store: Store,
  customerId: string,
  more: Partial<WebhookRow> = {},
): Promise<string> {
  const id = more.id ?? randomUUID();
  const webhook: WebhookRow = {
    id,
    customer_id: customerId,
    name: 'hook',
    url: `https://${id}.test/`,
    events: '["record.upserted"]',
    namespaces: '[]',
    enabled: 1,
    ...NEVER_SERVED,
    secret_digest: '',
    signing_secret: Buffer.from(`secret of ${id}`),
    starts_after: 0,
    created_at: 1,
    created_by: null,
    url_by: null,
    secret_by: null,
    ...more,
  };
  await store.write((tx) => insertRows(tx, 'webhooks', webhook));
  return id;
}

/** What the fan-out does for one webhook, in a unit of the caller's. The numbers ascend from `more.seq`. */
export async function enqueueIn(
  tx: Tx,
  webhookId: string,
  count: number,
  at: number,
  more: Partial<WebhookDeliveriesTable> = {},
): Promise<string[]> {
  const first = more.seq ?? 1;
  const deliveries = Array.from({ length: count }, (_, index): WebhookDeliveriesTable => {
    const seq = first + index;
    return {
      id: randomUUID(),
      webhook_id: webhookId,
      event: 'record.upserted',
      status: 'pending',
      response_code: null,
      error: null,
      attempts: 0,
      duration_ms: null,
      created_at: at,
      last_attempt_at: null,
      next_attempt_at: at,
      body: Buffer.from(`{"seq":${seq}}`),
      ...more,
      seq,
    };
  });
  await insertRows(tx, 'webhook_deliveries', deliveries);
  await query(
    tx,
    'update webhooks set next_due_at = case when next_due_at <= :at then next_due_at else :at end where id = :id',
    { at, id: webhookId },
  );
  return deliveries.map((delivery) => delivery.id);
}

export function enqueue(
  store: Store,
  webhookId: string,
  count: number,
  at: number,
  more: Partial<WebhookDeliveriesTable> = {},
): Promise<string[]> {
  return store.write((tx) => enqueueIn(tx, webhookId, count, at, more));
}

export async function webhookOf(store: Store, id: string): Promise<WebhookRow> {
  return oneRow(store.read, 'webhooks', { where: { id } });
}

/** By number. */
export async function deliveriesOf(store: Store, webhookId: string): Promise<WebhookDeliveriesTable[]> {
  return findRows(store.read, 'webhook_deliveries', { where: { webhook_id: webhookId }, order: 'seq' });
}

/** How many deliveries of a webhook there are of each status. */
export async function statusesOf(store: Store, webhookId: string): Promise<Record<string, number>> {
  const counts: Record<string, number> = {};
  for (const { status } of await deliveriesOf(store, webhookId)) counts[status] = (counts[status] ?? 0) + 1;
  return counts;
}

/** Polls until it holds. Fails after a timeout. */
export async function until(what: string, holds: () => boolean | Promise<boolean>): Promise<void> {
  for (let looks = 0; looks < 4000; looks++) {
    if (await holds()) return;
    await sleep(5);
  }
  assert.fail(`never came true: ${what}`);
}
