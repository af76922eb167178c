import assert from 'node:assert/strict';
import { statSync } from 'node:fs';
import { it } from 'node:test';
import { withStore } from '../../test/support/store/fixtures.ts';
import { sqliteDatabase } from '../../test/support/store/sqlite.ts';
import { appendChanges, type NewChange } from './log/change-log.ts';
import type { Store } from './store.ts';
import { startUpkeep } from './upkeep.ts';
import { advanceCursor } from './webhooks/fan-out.ts';

it('upkeep prunes what is too old, scrubs, survives failures and stops when told', async () => {
  const database = await sqliteDatabase();
  await withStore(
    async () => database,
    async (store) => {
      const change: NewChange = {
        type: 'token.revoked',
        owner: null,
        cause: 'direct',
        namespace: 'acme',
        digest: 'a'.repeat(64),
      };
      await store.write((tx) => appendChanges(tx, Array<NewChange>(2_500).fill(change), 100));
      await store.write((tx) => appendChanges(tx, [change], 101));
      await store.write((tx) => advanceCursor(tx, 2_501));
      const abort = new AbortController();
      const faults: unknown[] = [];
      const watched: Store = {
        ...store,
        scrub: async () => {
          assert.equal(await store.scrub(), true);
          assert.equal(statSync(`${database.file}-wal`).size, 0);
          abort.abort();
          return true;
        },
      };
      const options = {
        store: watched,
        clock: () => 1_101,
        signal: abort.signal,
        keepLog: 1_000,
        keepAudit: 1_000,
      };
      await startUpkeep({ ...options, onError: (error) => faults.push(error) });
      assert.partialDeepStrictEqual(await store.changes.bounds(), { oldest: 2_501, head: 2_501 });
      assert.equal(faults.length, 0);

      const again = new AbortController();
      const failing: Store = { ...store, scrub: () => Promise.reject(new Error('disk')) };
      const onError = (error: unknown): void => {
        faults.push(error);
        again.abort();
      };
      await startUpkeep({ ...options, store: failing, signal: again.signal, onError });
      assert.match(String(faults[0]), /disk/);
    },
  );
});
