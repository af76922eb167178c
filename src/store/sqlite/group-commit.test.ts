import assert from 'node:assert/strict';
import { DatabaseSync } from 'node:sqlite';
import { it } from 'node:test';
import { query } from '../../../test/support/store/rows.ts';
import { uuidsOfTimes } from '../../base/ids.ts';
import { realTimers } from '../../base/lifecycle/timers.ts';
import { SqliteConnection } from './driver.ts';
import { GroupCommit } from './group-commit.ts';

const PORTS = { timers: realTimers, rowId: uuidsOfTimes(), checkPlace: () => {} };

/** A connection whose next statements of one text fail, as they do when the disk does. */
class FaultyConnection extends SqliteConnection {
  readonly faults = new Map<string, number>();

  override run(text: string): unknown[] {
    const left = this.faults.get(text) ?? 0;
    if (left === 0) return super.run(text);
    this.faults.set(text, left - 1);
    throw new Error(`disk I/O error in ${text}`);
  }
}

it('a rollback that fails does not stop the writer for good', async () => {
  const connection = new FaultyConnection(new DatabaseSync(':memory:'));
  const commits = new GroupCommit(connection, () => {}, PORTS);
  await commits.write((tx) => query(tx, 'create table t (x integer)'));
  connection.faults.set('commit', 1).set('rollback', 1);
  await assert.rejects(
    commits.write((tx) => query(tx, 'insert into t values (1)')),
    /disk I\/O error in commit/,
  );
  await commits.write((tx) => query(tx, 'insert into t values (2)'));
  assert.deepEqual(
    connection.run('select x from t').map((row) => ({ ...(row as object) })),
    [{ x: 2 }],
  );
  await commits.close();
  connection.close();
});

/** @param step milliseconds that pass at each look at the clock */
async function commitsOf(units: number, step = 0): Promise<number> {
  let time = 0;
  let commits = 0;
  const connection = new SqliteConnection(new DatabaseSync(':memory:'));
  const elapsed = (): number => {
    time += step;
    return time;
  };
  const writer = new GroupCommit(connection, () => commits++, {
    ...PORTS,
    timers: { ...realTimers, elapsed },
  });
  await Promise.all(Array.from({ length: units }, () => writer.write(async () => {})));
  await writer.close();
  connection.close();
  return commits;
}

it('units that wait together share one commit', async () => {
  assert.equal(await commitsOf(1), 1);
  assert.equal(await commitsOf(128), 1);
});

it('a batch is bounded in units, and in time', async () => {
  assert.equal(await commitsOf(129), 2);
  assert.equal(await commitsOf(4, 10), 2);
});

it('a unit that fails, the first of a batch or a later one, leaves nothing, and the others are committed', async () => {
  const connection = new SqliteConnection(new DatabaseSync(':memory:'));
  const commits = new GroupCommit(connection, () => {}, PORTS);
  await commits.write((tx) => query(tx, 'create table t (x integer)'));
  const add = (x: number) =>
    commits.write(async (tx) => {
      await query(tx, 'insert into t values (:x)', { x });
      if (x % 3 === 0) throw new Error(`refused ${x}`);
    });
  const results = await Promise.allSettled([0, 1, 2, 3, 4].map(add));
  assert.deepEqual(
    results.map(({ status }) => status),
    ['rejected', 'fulfilled', 'fulfilled', 'rejected', 'fulfilled'],
  );
  assert.deepEqual(
    connection.run('select x from t order by x').map((row) => (row as { x: number }).x),
    [1, 2, 4],
  );
  await commits.close();
  connection.close();
});

it('a failed unit that cannot be undone takes its whole batch with it, and nothing of it is committed later', async () => {
  const connection = new FaultyConnection(new DatabaseSync(':memory:'));
  const commits = new GroupCommit(connection, () => {}, PORTS);
  await commits.write((tx) => query(tx, 'create table t (x integer)'));
  connection.faults.set('rollback to unit', 1).set('rollback', 1);
  const add = (x: number) =>
    commits.write(async (tx) => {
      await query(tx, 'insert into t values (:x)', { x });
      if (x === 2) throw new Error('refused');
    });
  const results = await Promise.allSettled([add(1), add(2)]);
  assert.deepEqual(
    results.map(({ status }) => status),
    ['rejected', 'rejected'],
  );
  await add(3);
  assert.deepEqual(
    connection.run('select x from t').map((row) => (row as { x: number }).x),
    [3],
  );
  await commits.close();
  connection.close();
});
