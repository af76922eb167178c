import { randomUUID } from 'node:crypto';
import type { Clock } from '../../../src/base/time.ts';
import { insertUser } from '../../../src/store/accounts.ts';
import { appendChanges, type NewChange } from '../../../src/store/log/change-log.ts';
import type { RecordsTable } from '../../../src/store/records.ts';
import type { Store, Tx } from '../../../src/store/store.ts';
import { insertRows, query } from './rows.ts';

/** One empty database of either engine, which several stores may open. */
export interface TestDatabase {
  open(clock?: Clock): Promise<Store>;
  drop(): Promise<void>;
}

/** Runs a scenario on a database of its own, with one open store; everything is closed and removed after it. */
export async function withStore(
  create: () => Promise<TestDatabase>,
  scenario: (store: Store, open: TestDatabase['open']) => Promise<void>,
): Promise<void> {
  const database = await create();
  const stores: Store[] = [];
  const open: TestDatabase['open'] = async (clock) => {
    const store = await database.open(clock);
    stores.push(store);
    return store;
  };
  try {
    await scenario(await open(), open);
  } finally {
    await Promise.all(stores.map((store) => store.close()));
    await database.drop();
  }
}

/** A customer and one namespace of theirs. */
export interface Home {
  readonly customerId: string;
  readonly namespaceId: string;
  readonly namespace: string;
}

export async function settle(store: Store, namespace = 'acme'): Promise<Home> {
  const home = { customerId: randomUUID(), namespaceId: randomUUID(), namespace };
  await store.write(async (tx) => {
    const counted = { records_count: 0, created_at: 1 };
    const user = {
      id: home.customerId,
      email: `${namespace}@example.org`,
      role: 'user',
      created_at: 1,
    } as const;
    await insertUser(tx, user, 'free');
    await insertRows(tx, 'namespaces', {
      id: home.namespaceId,
      name: namespace,
      customer_id: home.customerId,
      public_read: 1,
      suspended: 0,
      updated_at: 2,
      ...counted,
    });
  });
  return home;
}

/** Writes a record with its Change and counts, as the use cases do; in a unit of the caller's. */
export async function putRecord(
  tx: Tx,
  home: Home,
  params: string,
  more: Partial<RecordsTable> = {},
): Promise<number> {
  const key = `${params}.doc.${home.namespace}.v1`;
  const record: RecordsTable = {
    id: randomUUID(),
    namespace_id: home.namespaceId,
    key,
    resource: 'doc',
    version: 'v1',
    data: Buffer.from(`payload of ${params}`),
    content_type: 'text/plain',
    ttl_seconds: 300,
    expires_at: null,
    created_at: 1_000,
    updated_at: 1_000,
    revision: 1,
    encoding: null,
    ...more,
  };
  for (const [table, id] of [
    ['customers', home.customerId],
    ['namespaces', home.namespaceId],
  ]) {
    await query(tx, `update ${table} set records_count = records_count + 1 where id = :id`, { id });
  }
  await insertRows(tx, 'records', record);
  return appendChanges(tx, [upsert(home, record)], record.updated_at);
}

export function upsert(home: Home, record: RecordsTable): NewChange {
  return {
    type: 'record.upserted',
    owner: home.customerId,
    cause: 'direct',
    key: record.key,
    namespace: home.namespace,
    resource: record.resource,
    version: record.version,
    data: Buffer.from(record.data).toString('base64'),
    contentType: record.content_type,
    ttlSeconds: record.ttl_seconds,
    expiresAt: record.expires_at,
  };
}
