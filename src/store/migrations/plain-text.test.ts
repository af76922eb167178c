import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { onEachEngine } from '../../../test/support/store/engines.ts';
import { putRecord, settle, withStore } from '../../../test/support/store/fixtures.ts';
import { query } from '../../../test/support/store/rows.ts';
import type { Store } from '../store.ts';
import { migrate } from './migrate.ts';

/** Takes the step back. */
const BEFORE = [
  'drop index record_versions_listing',
  'alter table record_versions drop column record_id',
  'alter table record_versions drop column created_at',
  'alter table record_versions drop column encoding',
  'alter table records drop column encoding',
  "delete from kysely_migration where name = '0005-plain-text'",
];

const HISTORY = 7;

async function value(store: Store, key: string, version: number, from: number, cause: string): Promise<void> {
  const row = { history: HISTORY, key, version, from, until: from + 100, cause };
  await store.write((tx) =>
    query(
      tx,
      `insert into record_versions (history_id, key, version, cause, valid_from, valid_to, write_seq, write_rows, content_type, ttl_seconds, octets)
      values (:history, :key, :version, :cause, :from, :until, 1, 1, 'text/plain', 60, 1)`,
      row,
    ),
  );
}

onEachEngine((create) => {
  describe('the step that knows plain text', () => {
    it('gives records of a history that are gone a place in listings, and leaves those that stay', () =>
      withStore(create, async (store) => {
        const home = await settle(store);
        await store.write((tx) => putRecord(tx, home, 'stays'));
        for (const sql of BEFORE) await store.write((tx) => query(tx, sql));
        const { key: stays } = (await query<{ key: string }>(store.read, 'select key from records'))[0]!;
        await value(store, stays, 1, Date.now() + 1_000, 'write');
        await value(store, 'gone.acme.v1', 0, 100, 'create');
        await value(store, 'gone.acme.v1', 1, 100, 'write');
        await value(store, 'gone.acme.v1', 2, 200, 'delete');
        await store.write((tx) => migrate(tx, Date.now));
        const rows = await query<Record<string, unknown>>(
          store.read,
          'select key, version, cause, created_at, record_id from record_versions order by key, version',
        );
        const none = { created_at: null, record_id: null };
        const place = { created_at: 100, record_id: 'gone.acme.v1' };
        assert.deepEqual(
          rows.map((row) => ({ ...row })),
          [
            { key: 'gone.acme.v1', version: 0, cause: 'create', ...none },
            { key: 'gone.acme.v1', version: 1, cause: 'write', ...place },
            { key: 'gone.acme.v1', version: 2, cause: 'delete', ...place },
            { key: stays, version: 1, cause: 'write', ...none },
          ],
        );
      }));
  });
});
