import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readdirSync, readFileSync, renameSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { describe, it } from 'node:test';
import { fileURLToPath } from 'node:url';
import { createManualTimers } from '../../../test/support/base/lifecycle/manual-timers.ts';
import { changesAfter } from '../../../test/support/feed/changes-after.ts';
import { putRecord, settle } from '../../../test/support/store/fixtures.ts';
import { findRows, query } from '../../../test/support/store/rows.ts';
import { type SqliteDatabase, sqliteDatabase } from '../../../test/support/store/sqlite.ts';
import { LIMITS } from '../../base/limits.ts';
import { sweepExpired } from '../../control/records/expiry.ts';
import { isDiskFull } from '../engine/engine-errors.ts';
import { eraseSuperseded } from '../log/change-log.ts';
import type { Store, Tx } from '../store.ts';
import { advanceCursor } from '../webhooks/fan-out.ts';
import { openSqliteStore } from './sqlite-store.ts';

describe('embedded engine', () => {
  const scenario = (title: string, run: (store: Store, database: SqliteDatabase) => Promise<void>): void => {
    it(title, async () => {
      const database = await sqliteDatabase();
      const store = await database.open();
      try {
        await run(store, database);
      } finally {
        await store.close();
        await database.drop();
      }
    });
  };
  scenario('a commit waits for the disk (C02)', async (store) => {
    // 2 is FULL: with NORMAL an acknowledged write is lost with the machine.
    const rows = await store.write((tx) => query<{ synchronous: number }>(tx, 'pragma synchronous'));
    assert.deepEqual(rows, [{ synchronous: 2 }]);
  });

  scenario('its directory and files are the owner’s alone', async (store, { dataDir }) => {
    await settle(store);
    assert.equal(statSync(dataDir).mode & 0o777, 0o700);
    const names = readdirSync(dataDir).sort();
    assert.deepEqual(names, ['uqrp.sqlite', 'uqrp.sqlite-shm', 'uqrp.sqlite-wal']);
    for (const name of names) assert.equal(statSync(join(dataDir, name)).mode & 0o777, 0o600, name);
  });

  scenario('waits for another process that writes by its timers alone, up to 30 s', async (_, { file }) => {
    const timers = createManualTimers();
    const store = await openSqliteStore({ file, clock: () => 0, timers });
    const home = await settle(store);
    const other = new DatabaseSync(file);
    const write = (key: string): { isDone: boolean; readonly unit: Promise<number> } => {
      const state = { isDone: false, unit: store.write((tx) => putRecord(tx, home, key)) };
      state.unit.then(
        () => (state.isDone = true),
        () => (state.isDone = true),
      );
      return state;
    };
    other.exec('begin immediate');
    const first = write('a');
    await timers.advance(29_999);
    assert.equal(first.isDone, false);
    other.exec('commit');
    await timers.advance(2);
    assert.equal(first.isDone, true);
    assert.equal(await first.unit, 1);
    other.exec('begin immediate');
    const second = write('b');
    await timers.advance(29_999);
    assert.equal(second.isDone, false);
    await timers.advance(1);
    assert.equal(second.isDone, true);
    await assert.rejects(second.unit, /locked/);
    other.close();
    await store.close();
  });

  scenario('a commit that fails rejects every unit of it, and the next works', async (store) => {
    const home = await settle(store);
    const orphan = { ...home, namespaceId: 'nobody' };
    const units = [
      store.write((tx) => putRecord(tx, home, 'good')),
      store.write(async (tx) => {
        // Checked only when the transaction commits: the unit itself succeeds.
        await query(tx, 'pragma defer_foreign_keys = on');
        await putRecord(tx, orphan, 'bad');
      }),
    ];
    for (const one of await Promise.allSettled(units)) assert.equal(one.status, 'rejected');
    assert.partialDeepStrictEqual(await store.changes.bounds(), { oldest: 1, head: 0 });
    assert.equal(await store.write((tx) => putRecord(tx, home, 'next')), 1);
  });

  scenario('a transaction that the engine itself gave up rejects every unit of it', async (store) => {
    const home = await settle(store);
    const units = [
      store.write((tx) => putRecord(tx, home, 'good')),
      store.write((tx) => query(tx, 'rollback')),
    ];
    for (const one of await Promise.allSettled(units)) assert.equal(one.status, 'rejected');
    assert.equal(await store.write((tx) => putRecord(tx, home, 'next')), 1);
  });

  scenario(
    'a full disk fails writes and leaves reads; writes work again once there is room',
    async (store) => {
      const home = await settle(store);
      await store.write((tx) => putRecord(tx, home, 'before'));
      // A bound on the pages of the file is to SQLite what a full disk is.
      const bound = (pages: number) => store.write((tx) => query(tx, `pragma max_page_count = ${pages}`));
      await bound(1);
      const large = async (tx: Tx): Promise<void> => {
        for (let i = 0; i < 100; i++) {
          await putRecord(tx, home, `large-${i}`, { data: Buffer.alloc(LIMITS.recordData, 1) });
        }
      };
      await assert.rejects(store.write(large), (error: unknown) => isDiskFull(error));
      assert.equal((await store.changes.bounds()).head, 1);
      assert.equal((await findRows(store.read, 'records', { columns: ['key'] })).length, 1);
      await bound(1_000_000);
      await store.write(large);
      assert.equal((await store.changes.bounds()).head, 101);
    },
  );

  scenario('a loop of reads lets other work have its turn', async (store) => {
    let turn = false;
    setImmediate(() => {
      turn = true;
    });
    for (let reads = 0; reads < 100_000 && !turn; reads++) await store.changes.bounds();
    assert.equal(turn, true);
  });

  scenario('the reader does not write', async (store) => {
    await assert.rejects(query(store.read, 'delete from users'), /readonly/);
  });

  scenario('expired payloads are gone from the files after a scrub', async (store, { dataDir }) => {
    const home = await settle(store);
    const found = (text: string): string[] =>
      readdirSync(dataDir).filter((name) => readFileSync(join(dataDir, name)).includes(text));
    const payload = (name: string): Buffer => Buffer.from(`${name} `.repeat(200));
    await store.write(async (tx) => {
      await putRecord(tx, home, 'short', { data: payload('short-lived'), expires_at: 10 });
      await putRecord(tx, home, 'long', { data: payload('long-lived') });
    });
    assert.notDeepEqual(found('short-lived'), []);
    assert.equal(await sweepExpired(store, 10, 10), 1);
    await store.write(async (tx) => {
      await advanceCursor(tx, 3);
      await eraseSuperseded(tx, 10);
    });
    assert.equal(await store.scrub(), true);
    assert.deepEqual(found('short-lived'), []);
    assert.deepEqual(found('long-lived'), ['uqrp.sqlite']);
    assert.equal(await store.scrub(), true);
  });

  scenario('a scrub that finds a reader in the way says so', async (store, { file }) => {
    const home = await settle(store);
    const other = new DatabaseSync(file, { timeout: 10_000 });
    other.exec('begin');
    other.prepare('select * from users').all();
    await store.write((tx) => putRecord(tx, home, 'a'));
    assert.equal(await store.scrub(), false);
    other.close();
    assert.equal(await store.scrub(), true);
  });

  scenario(
    'no write to a file that was removed or replaced is acknowledged (all were until the end of the process)',
    async (store, { file }) => {
      const home = await settle(store);
      const put = (key: string): Promise<number> => store.write((tx) => putRecord(tx, home, key));
      await put('before');
      const away = `${file}.away`;
      for (const [what, key, then] of [
        ['removed', 'after-1', () => {}],
        ['replaced by another one', 'after-2', () => writeFileSync(file, '')],
      ] as const) {
        renameSync(file, away);
        then();
        // Also without a ping, and those that share a commit.
        for (const one of await Promise.allSettled([put('a'), put('b')])) {
          assert.equal(one.status, 'rejected');
          assert.equal((one.reason as Error).message, `the SQLite file was ${what}`);
        }
        await assert.rejects(store.ping(), new RegExp(what));
        renameSync(away, file);
        assert.equal(await put(key), (await store.changes.bounds()).head);
      }
      const rows = await findRows(store.read, 'records', { columns: ['key'] });
      const keys = rows.map((row) => String(row.key).replace(/\..*/, '')).toSorted();
      assert.deepEqual(keys, ['after-1', 'after-2', 'before'], 'nothing of a refused unit is there');
    },
  );

  scenario('every acknowledged write outlives a kill', async (store, { dataDir }) => {
    const child = spawn(
      process.execPath,
      [fileURLToPath(new URL('../../../test/support/store/writer-process.ts', import.meta.url)), dataDir],
      {
        stdio: ['ignore', 'pipe', 'inherit'],
      },
    );
    let said = '';
    child.stdout.setEncoding('utf8');
    const exited = once(child, 'exit');
    for await (const chunk of child.stdout) {
      said += chunk;
      if (said.split('\n').length > 200) child.kill('SIGKILL');
    }
    await exited;
    const acknowledged = said.split('\n').slice(0, -1);
    const rows = await findRows(store.read, 'records', { columns: ['key'] });
    const keys = new Set(rows.map((row) => row.key));
    assert.deepEqual(
      acknowledged.filter((key) => !keys.has(key)),
      [],
    );
    const { head } = await store.changes.bounds();
    assert.equal((await changesAfter(store.changes, 0, head + 1)).length, keys.size);
  });
});
