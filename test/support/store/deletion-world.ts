import { randomBytes, randomUUID } from 'node:crypto';
import { aesGcmEncryption } from '../../../src/base/seal.ts';
import { writeAs } from '../../../src/control/accounts/membership.ts';
import { openSessions } from '../../../src/control/accounts/sessions.ts';
import type { RunUnit } from '../../../src/control/deps.ts';
import type { Actor } from '../../../src/http/actor.ts';
import type { UseCaseDeps } from '../../../src/process/use-case-deps.ts';
import { appendChanges } from '../../../src/store/log/change-log.ts';
import { upsertRecords } from '../../../src/store/records.ts';
import type { Store } from '../../../src/store/store.ts';
import { type Home, upsert } from './fixtures.ts';
import { query } from './rows.ts';

/** What the use cases are handed, over a store that a test opened. */
export function testDeps(store: Store, clock: () => number = () => 1): UseCaseDeps {
  const newId = (): string => randomUUID();
  return {
    store,
    unit: actingUnits(store, clock),
    clock,
    newId,
    random: randomBytes,
    historyKeys: aesGcmEncryption(randomBytes(32), randomBytes, 0),
    zoneLength: 8,
    sessions: openSessions({ store, clock, newId }, randomBytes(32)),
  };
}

/** Units that hold the customer alone: `testActor` has no session in the store. */
export function actingUnits(store: Store, clock: () => number = () => 1): RunUnit {
  return (actor, work, others) =>
    writeAs({ store, clock }, { ...actor, sessionId: null }, (tx) => work(tx, actor), others);
}

/** The customer of a home, with every right. */
export function testActor({ customerId }: Home): Actor {
  return {
    customerId,
    personId: customerId,
    userId: customerId,
    role: 'owner',
    sessionId: 'session',
    tier: 'pro',
    via: 'session',
    apiKey: null,
    requestId: null,
    operations: new Set(['read', 'write']),
    namespaces: null,
  };
}

/** Writes records with their changes and counts, in units of 500. */
export async function fillNamespace(store: Store, home: Home, count: number): Promise<void> {
  for (let start = 0; start < count; start += 500) {
    const rows = Array.from({ length: Math.min(500, count - start) }, (_, i) => ({
      id: randomUUID(),
      namespace_id: home.namespaceId,
      key: `k${start + i}.doc.${home.namespace}.v1`,
      resource: 'doc',
      version: 'v1',
      data: Buffer.from(`payload ${start + i}`),
      content_type: 'text/plain',
      ttl_seconds: 300,
      expires_at: null,
      created_at: start + i,
      updated_at: 1,
      revision: 1,
      encoding: null,
    }));
    await store.write(async (tx) => {
      for (const table of ['customers', 'namespaces'] as const) {
        const id = table === 'customers' ? home.customerId : home.namespaceId;
        await query(tx, `update ${table} set records_count = records_count + :count where id = :id`, {
          id,
          count: rows.length,
        });
      }
      await upsertRecords(tx, rows);
      await appendChanges(
        tx,
        rows.map((row) => upsert(home, row)),
        1,
      );
    });
  }
}
