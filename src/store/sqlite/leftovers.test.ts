import assert from 'node:assert/strict';
import { readFileSync, renameSync, statSync } from 'node:fs';
import { DatabaseSync } from 'node:sqlite';
import { describe, it } from 'node:test';
import { seededRng } from '../../../test/support/protocol/dns/fuzz.ts';
import { query } from '../../../test/support/store/rows.ts';
import { type SqliteDatabase, sqliteDatabase } from '../../../test/support/store/sqlite.ts';
import { realTimers } from '../../base/lifecycle/timers.ts';
import type { Store } from '../store.ts';
import { createLeftovers, gapOf } from './leftovers.ts';

const PAGE = 4096;
const TABLE = 'create table t (id integer primary key, data text)';
const MOST_ROWS = 120;
const SECRET = /secret-\d{6}/g;

/** Secrets that the file has, and no row. */
function leftBehind(file: string): string[] {
  const db = new DatabaseSync(file, { readOnly: true });
  const rows = db.prepare('select substr(data, 1, 13) as data from t').all();
  db.close();
  const present = new Set(rows.map(({ data }) => data));
  const there = [...readFileSync(file).toString('latin1').matchAll(SECRET)].map(([secret]) => secret);
  return [...new Set(there)].filter((secret) => !present.has(secret));
}

/** Rows that come, change their length and go, at random. @returns the next number of a secret */
async function churn(store: Store, seed: number, steps: number, octets: number, from = 0): Promise<number> {
  const random = seededRng(seed);
  let secrets = from;
  const data = (): string => `secret-${String(++secrets).padStart(6, '0')}${'x'.repeat(random(octets))}`;
  await store.write(async (tx) => {
    const ids = (await query<{ id: number }>(tx, 'select id from t')).map(({ id }) => id);
    for (let step = 0; step < steps; step++) {
      const id = ids[random(Math.max(1, ids.length))];
      const kind = random(10);
      if ((kind < 5 && ids.length < MOST_ROWS) || id === undefined) {
        const added = random(2 ** 31);
        await query(tx, 'insert into t (id, data) values (:id, :data)', { id: added, data: data() });
        ids.push(added);
      } else if (kind < 7) {
        await query(tx, 'update t set data = :data where id = :id', { data: data(), id });
      } else {
        await query(tx, 'delete from t where id = :id', { id });
        ids.splice(ids.indexOf(id), 1);
      }
    }
  });
  return secrets;
}

function checkpoint(file: string): void {
  const db = new DatabaseSync(file);
  // The log stays as it is: whoever empties it looks through the file.
  db.exec('pragma wal_checkpoint(PASSIVE)');
  db.close();
}

/** What SQLite says of a whole file. */
function faults(file: string): unknown {
  const db = new DatabaseSync(file, { readOnly: true });
  const rows = db.prepare('pragma integrity_check').all();
  db.close();
  return rows.map(({ integrity_check }) => integrity_check);
}

async function withTable(run: (store: Store, database: SqliteDatabase) => Promise<void>): Promise<void> {
  const database = await sqliteDatabase();
  const store = await database.open();
  try {
    await store.write((tx) => query(tx, TABLE));
    await run(store, database);
  } finally {
    await store.close();
    await database.drop();
  }
}

async function leaveSomething(store: Store, file: string): Promise<void> {
  let secrets = 0;
  for (let seed = 1; leftBehind(file).length === 0; seed++) {
    secrets = await churn(store, seed, 300, 600, secrets);
    checkpoint(file);
  }
}

/** As upkeep does it, until nothing is left to look through. */
async function scrubbed(store: Store, times = 3): Promise<void> {
  for (let n = 0; n < times; n++) assert.equal(await store.scrub(), true);
}

describe('rows that were moved to another page and then deleted', () => {
  for (const octets of [600, 2000]) {
    it(`leave nothing in the file, of up to ${octets} octets`, () =>
      withTable(async (store, { file }) => {
        let [secrets, found] = [0, 0];
        for (let seed = 1; seed <= 8; seed++) {
          secrets = await churn(store, seed, 1500, octets, secrets);
          checkpoint(file);
          found += leftBehind(file).length;
          const before = await query(store.read, 'select * from t order by id');
          await scrubbed(store);
          assert.deepEqual(leftBehind(file), [], `seed ${seed}`);
          assert.deepEqual(await query(store.read, 'select * from t order by id'), before);
        }
        assert.deepEqual(faults(file), ['ok']);
        // Else these tables would not be the ones in which something is left behind.
        assert.ok(found > 0);
      }));
  }

  it('are not brought back by a connection that has their page in memory', () =>
    withTable(async (store, { file }) => {
      const other = new DatabaseSync(file);
      other.exec('pragma secure_delete = ON');
      const leftovers = createLeftovers({
        file,
        connect: (path, options) => new DatabaseSync(path, options),
        between: async (task) => task(),
        checkpoint() {
          other.exec('pragma wal_checkpoint(TRUNCATE)');
          // All pages of the table, as they are now.
          other.prepare('select count(data) from t').get();
          return 'empty';
        },
        timers: realTimers,
      });
      let [secrets, found] = [0, 0];
      for (let seed = 1; seed <= 12; seed++) {
        secrets = await churn(store, seed, 300, 600, secrets);
        checkpoint(file);
        found += leftBehind(file).length;
        leftovers.written();
        await leftovers.erase();
        // A change of each page.
        other.exec('update t set data = substr(data, 1, length(data) - 1) where length(data) > 20');
        checkpoint(file);
        assert.deepEqual(leftBehind(file), [], `seed ${seed}`);
      }
      other.close();
      leftovers.close();
      assert.deepEqual(faults(file), ['ok']);
      assert.ok(found > 0);
    }));

  it('are found by the process that starts next, once no other one writes', async () => {
    const database = await sqliteDatabase();
    const { file } = database;
    const first = await database.open();
    await first.write((tx) => query(tx, TABLE));
    await leaveSomething(first, file);
    await first.close();
    const store = await database.open();
    const other = new DatabaseSync(file);
    other.exec('begin immediate');
    assert.equal(await store.scrub(), false);
    assert.notDeepEqual(leftBehind(file), []);
    other.exec('rollback');
    other.close();
    await scrubbed(store, 1);
    assert.deepEqual(leftBehind(file), []);
    // Its own commit is no reason to look again.
    assert.equal(statSync(`${file}-wal`).size, 0);
    await store.close();
    await database.drop();
  });

  it('are found in a large file, 8 MiB at a time', () =>
    withTable(async (store, { file }) => {
      await store.write(async (tx) => {
        await query(tx, 'create table filling (data blob)');
        for (let n = 0; n < 20; n++) await query(tx, 'insert into filling values (zeroblob(1048576))');
      });
      await leaveSomething(store, file);
      let calls = 0;
      for (; calls < 9 && leftBehind(file).length > 0; calls++) await scrubbed(store, 1);
      assert.ok(calls === 3 || calls === 4, `${calls} calls`);
    }));
});

/** A pass over a table with something left behind, in which something happens once it is found. @returns what the pass said */
async function passWhile(
  happens: (file: string) => void,
): Promise<{ isDone: boolean; file: string; end: () => Promise<void> }> {
  const database = await sqliteDatabase();
  const { file } = database;
  const store = await database.open();
  await store.write((tx) => query(tx, TABLE));
  await leaveSomething(store, file);
  await store.close();
  const leftovers = createLeftovers({
    file,
    connect: (path, options) => new DatabaseSync(path, options),
    async between(task) {
      happens(file);
      return task();
    },
    checkpoint: () => 'empty',
    timers: realTimers,
  });
  const isDone = await leftovers.erase();
  const end = async (): Promise<void> => {
    leftovers.close();
    await database.drop();
  };
  return { isDone, file, end };
}

describe('a pass does nothing', () => {
  it('to a file that another tool has rewritten with a map of pages meanwhile', async () => {
    const { isDone, file, end } = await passWhile((path) => {
      const tool = new DatabaseSync(path);
      tool.exec('pragma auto_vacuum = FULL');
      tool.exec('vacuum');
      tool.exec('pragma wal_checkpoint(TRUNCATE)');
      tool.close();
    });
    assert.equal(isDone, false);
    assert.deepEqual(faults(file), ['ok']);
    await end();
  });

  it('to a file that another one has replaced meanwhile', async () => {
    let before: Buffer = Buffer.alloc(0);
    const { isDone, file, end } = await passWhile((path) => {
      before = readFileSync(path);
      renameSync(path, `${path}.away`);
      const another = new DatabaseSync(path);
      another.exec(TABLE);
      another.close();
    });
    assert.equal(isDone, false);
    assert.ok(readFileSync(`${file}.away`).equals(before));
    const another = new DatabaseSync(file, { readOnly: true });
    assert.equal(another.prepare('pragma user_version').get()?.user_version, 0);
    another.close();
    await end();
  });
});

describe('the unused part of a page', () => {
  const page = (type: number, cells: number, content: number): Buffer => {
    const made = Buffer.alloc(PAGE);
    made[0] = type;
    made.writeUInt16BE(cells, 3);
    made.writeUInt16BE(content, 5);
    return made;
  };
  for (const [what, made, gap] of [
    ['of a leaf of a table', page(13, 3, 1000), { start: 14, end: 1000 }],
    ['of a leaf of an index', page(10, 0, PAGE), { start: 8, end: PAGE }],
    ['of an inner page of a table', page(5, 1, 14), { start: 14, end: 14 }],
    ['of an inner page of an index', page(2, 2, 500), { start: 16, end: 500 }],
    ['of a page whose cells begin before their places end', page(13, 3, 13), null],
    ['of a page whose cells begin behind its end', page(13, 3, PAGE + 1), null],
    ['of a page whose cells begin at 65,536, in one of 4,096', page(13, 0, 0), null],
    ['of a page of a long value', page(0, 3, 1000), null],
    ['of one behind the 16,777,216th page', page(1, 3, 1000), null],
  ] as const) {
    it(`is right: ${what}`, () => assert.deepEqual(gapOf(made, PAGE), gap));
  }

  it('ends at 65,536 in the largest page', () => {
    const made = Buffer.alloc(65_536);
    made[0] = 13;
    assert.deepEqual(gapOf(made, 65_536), { start: 8, end: 65_536 });
  });
});
