import { randomUUID } from 'node:crypto';
import type { Clock } from '../../../src/base/time.ts';
import type { ChangeBody } from '../../../src/protocol/change.ts';
import { insertUser } from '../../../src/store/accounts.ts';
import { appendChanges, pruneLog } from '../../../src/store/log/change-log.ts';
import { upsertRecords } from '../../../src/store/records.ts';
import { renewEpoch } from '../../../src/store/service-facts.ts';
import type { Tx } from '../../../src/store/store.ts';
import { advanceCursor } from '../../../src/store/webhooks/fan-out.ts';
import type { TestDatabase } from '../store/fixtures.ts';
import { deleteRows, insertRows, oneRow, updateRows } from '../store/rows.ts';
import type { SourceWorld } from './source-suite.ts';

const USER = randomUUID();

/** The change source of a store, whose tables and log are written together. */
export async function storeSource(database: TestDatabase, clock: Clock): Promise<SourceWorld> {
  const store = await database.open(clock);
  await store.write(async (tx) => {
    await insertUser(tx, { id: USER, email: 'a@example.org', role: 'user', created_at: 1 }, 'free');
  });
  let isOpen = true;
  const cut = async (): Promise<void> => {
    if (isOpen) await store.close();
    isOpen = false;
  };
  const write = async (...bodies: readonly ChangeBody[]): Promise<void> => {
    await store.write(async (tx) => {
      for (const body of bodies) await writeTables(tx, body);
      const changes = bodies.map((body) => {
        if (body.type === 'dataset.items')
          throw new Error('items are stored as parts: see appendItemChanges');
        return { ...body, owner: USER, cause: 'direct' as const };
      });
      await appendChanges(tx, changes, 1);
    });
  };
  return {
    source: store.changes,
    write,
    async renew(...bodies) {
      const epoch = await store.write((tx) => renewEpoch(tx, 1));
      await write(...bodies);
      return epoch;
    },
    async prune(seq) {
      await store.write(async (tx) => {
        await advanceCursor(tx, seq);
        await pruneLog(tx, Number.MAX_SAFE_INTEGER, 1_000);
      });
    },
    cut,
    async close() {
      await cut();
      await database.drop();
    },
  };
}

/** Does to the tables what the use cases do, for the types that the suite writes. */
async function writeTables(tx: Tx, body: ChangeBody): Promise<unknown> {
  switch (body.type) {
    case 'namespace.upserted':
      return insertRows(tx, 'namespaces', {
        id: body.id,
        name: body.namespace,
        customer_id: USER,
        public_read: Number(body.publicRead),
        suspended: Number(body.suspended),
        records_count: body.recordsCount,
        created_at: body.createdAt,
        updated_at: body.updatedAt,
      });
    case 'token.minted':
      return insertRows(tx, 'query_tokens', {
        id: randomUUID(),
        namespace_id: await namespaceId(tx, body.namespace),
        name: 'token',
        digest: body.digest,
        expires_at: body.expiresAt,
        revoked_at: null,
        created_at: 1,
      });
    case 'token.revoked':
      return updateRows(tx, 'query_tokens', { revoked_at: 2 }, { digest: body.digest });
    case 'record.upserted': {
      const values = {
        data: Buffer.from(body.data ?? '', 'base64'),
        content_type: body.contentType,
        ttl_seconds: body.ttlSeconds,
        expires_at: body.expiresAt,
        updated_at: 1,
        encoding: body.encoding ?? null,
      };
      const fixed = { resource: body.resource, version: body.version, created_at: 1, revision: 1 };
      const namespace_id = await namespaceId(tx, body.namespace);
      return upsertRecords(tx, [{ id: randomUUID(), namespace_id, key: body.key, ...fixed, ...values }]);
    }
    case 'record.deleted':
      return deleteRows(tx, 'records', { key: body.key });
    default:
      throw new Error(`the suite writes no ${body.type}`);
  }
}

async function namespaceId(tx: Tx, name: string): Promise<string> {
  const row = await oneRow(tx, 'namespaces', { columns: ['id'], where: { name } });
  return row.id;
}
