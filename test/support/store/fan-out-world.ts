import { randomUUID } from 'node:crypto';
import { timeOrderedUuids } from '../../../src/base/ids.ts';
import type { Tier } from '../../../src/base/limits.ts';
import type { EnqueuedCounts } from '../../../src/control/webhooks/delivery-batch.ts';
import { type FanOut, type FanOutOptions, openFanOut } from '../../../src/control/webhooks/fan-out.ts';
import { WEBHOOK_EVENTS } from '../../../src/protocol/webhooks.ts';
import { appendChanges, type NewChange } from '../../../src/store/log/change-log.ts';
import type { Store } from '../../../src/store/store.ts';
import type { WebhookDeliveriesTable } from '../../../src/store/webhooks/deliveries.ts';
import { lockCursor } from '../../../src/store/webhooks/fan-out.ts';
import { NEVER_SERVED, type WebhookRow } from '../../../src/store/webhooks/webhooks.ts';
import { type Home, settle } from './fixtures.ts';
import { findRows, insertRows, updateRows } from './rows.ts';

/** A customer of a tier that has webhooks. */
export async function settlePaying(store: Store, namespace: string, tier: Tier = 'pro'): Promise<Home> {
  const home = await settle(store, namespace);
  await store.write((tx) => updateRows(tx, 'customers', { tier }, { id: home.customerId }));
  return home;
}

/** An enabled webhook of a customer that is told of everything from the log's beginning, unless told otherwise. */
export async function addHook(store: Store, home: Home, more: Partial<WebhookRow> = {}): Promise<string> {
  const hook: WebhookRow = {
    id: randomUUID(),
    customer_id: home.customerId,
    name: 'hook',
    url: 'https://hooks.example.org/',
    events: JSON.stringify(Object.keys(WEBHOOK_EVENTS)),
    namespaces: '[]',
    enabled: 1,
    ...NEVER_SERVED,
    secret_digest: 'ab',
    signing_secret: new Uint8Array(4),
    starts_after: 0,
    created_at: 1,
    created_by: null,
    url_by: null,
    secret_by: null,
    ...more,
  };
  await store.write((tx) => insertRows(tx, 'webhooks', hook));
  return hook.id;
}

export const setHook = (store: Store, id: string, change: Partial<WebhookRow>): Promise<unknown> =>
  store.write((tx) => updateRows(tx, 'webhooks', change, { id }));

/** The key of the record of this name in a namespace. */
export const keyIn = (namespace: string, name: string): string => `${name}.doc.${namespace}.v1`;

/** Deletes of the records of these names by a customer; in one unit of work. */
export function deletions(home: Home, names: readonly string[]): NewChange[] {
  const { customerId: owner, namespace } = home;
  return names.map((name) => ({
    type: 'record.deleted',
    owner,
    cause: 'cascade',
    key: keyIn(namespace, name),
    namespace,
  }));
}

export const append = (store: Store, changes: readonly NewChange[], at = 1_000): Promise<number> =>
  store.write((tx) => appendChanges(tx, changes, at));

export const numbered = (count: number, prefix = 'k'): string[] =>
  Array.from({ length: count }, (_, index) => `${prefix}${index + 1}`);

export interface TestFanout extends FanOut {
  /** Of each unit of work that gave numbers. */
  readonly units: EnqueuedCounts[];
  readonly errors: unknown[];
}

/** A fan-out of its own, as another process would have it; without its loop. */
export function testFanout(store: Store, more: Partial<FanOutOptions> = {}): TestFanout {
  const units: EnqueuedCounts[] = [];
  const errors: unknown[] = [];
  const clock = more.clock ?? (() => 1_000);
  const fanout = openFanOut({
    store,
    clock,
    newId: timeOrderedUuids(clock),
    signal: new AbortController().signal,
    wake: () => {},
    onError: (error) => errors.push(error),
    onEnqueued: (counts) => units.push(counts),
    ...more,
  });
  return { ...fanout, units, errors };
}

/** What an endpoint would be sent. */
interface Body {
  readonly event: string;
  readonly seq: number;
  readonly created_at: string;
  readonly data: {
    readonly key?: string;
    readonly name?: string;
    readonly namespace?: string;
    readonly data?: unknown;
  };
}

export interface Enqueuement extends WebhookDeliveriesTable {
  readonly parsed: Body | null;
}

/** The deliveries of a webhook in the order in which they were made. */
export async function deliveriesOf(store: Store, hook: string): Promise<Enqueuement[]> {
  const rows = await findRows(store.read, 'webhook_deliveries', {
    where: { webhook_id: hook },
    order: 'seq, id',
  });
  return rows.map((row) => ({
    ...row,
    parsed: row.body === null ? null : (JSON.parse(Buffer.from(row.body).toString()) as Body),
  }));
}

/** `seq event key-or-namespace` of the deliveries of a webhook that wait. */
export async function toldOf(store: Store, hook: string): Promise<string[]> {
  const rows = await deliveriesOf(store, hook);
  return rows.flatMap(({ parsed }) => {
    if (parsed === null) return [];
    const { key, name, namespace } = parsed.data;
    return [`${parsed.seq} ${parsed.event} ${key ?? name ?? namespace}`];
  });
}

export const cursorOf = (store: Store): Promise<{ seq: number; at: number }> => store.write(lockCursor);
