import assert from 'node:assert/strict';
import { statSync } from 'node:fs';
import { DatabaseSync } from 'node:sqlite';
import { it } from 'node:test';
import { createManualTimers } from '../../test/support/base/lifecycle/manual-timers.ts';
import { putRecord, settle, withStore } from '../../test/support/store/fixtures.ts';
import { sqliteDatabase } from '../../test/support/store/sqlite.ts';
import { appendChanges, type NewChange } from './log/change-log.ts';
import { openSqliteStore } from './sqlite/sqlite-store.ts';
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

it('upkeep tells for how long a reader in another process keeps deleted data in the files (nothing told)', async () => {
  const database = await sqliteDatabase();
  // It makes the folder.
  await (await database.open()).close();
  const timers = createManualTimers();
  const store = await openSqliteStore({ file: database.file, clock: () => 0, timers });
  const home = await settle(store);
  const reader = new DatabaseSync(database.file);
  const abort = new AbortController();
  const held: number[] = [];
  const ended = startUpkeep({
    store,
    clock: () => 0,
    signal: abort.signal,
    timers,
    keepLog: 1_000,
    keepAudit: 1_000,
    onScrubbed: (ms) => held.push(ms),
  });
  try {
    // A look each second: what a pass waits for is no timer.
    const seconds = async (count: number): Promise<void> => {
      for (let n = 0; n < count; n++) await timers.advance(1_000);
    };
    await seconds(10);
    assert.deepEqual([...new Set(held)], [0]);
    reader.exec('begin');
    reader.prepare('select count(*) from records').get();
    await store.write((tx) => putRecord(tx, home, 'secret'));
    held.length = 0;
    await seconds(60);
    assert.equal(held[0], 0);
    assert.deepEqual(
      held,
      held.toSorted((a, b) => a - b),
    );
    assert.ok(held.at(-1)! >= 45_000 && held.at(-1)! <= 60_000, held.join());
    assert.ok(held.length >= 10, 'it is looked at all the while');
    reader.exec('rollback');
    await seconds(10);
    assert.equal(held.at(-1), 0);
    assert.equal(statSync(`${database.file}-wal`).size, 0);
  } finally {
    abort.abort();
    await timers.advance(60_000);
    await ended;
    reader.close();
    await store.close();
    await database.drop();
  }
});
