import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { describe, it } from 'node:test';
import { watched } from '../../../test/support/store/statement-plans.ts';
import { realTimers } from '../../base/lifecycle/timers.ts';
import { statement } from '../engine/statement.ts';
import { readerOn, SqliteConnection } from './driver.ts';

const ALL = 'select * from t order by a';

describe('a connection of node:sqlite', () => {
  it('gives rows with as many columns as the table has now, after another process added and dropped some', () => {
    const dir = mkdtempSync(join(tmpdir(), 'uqrp-driver-'));
    try {
      const file = join(dir, 'x.db');
      const other = new DatabaseSync(file);
      other.exec("create table t (a integer, b text); insert into t values (1, 'x'), (2, null)");
      const connection = new SqliteConnection(new DatabaseSync(file));
      const two = [
        { a: 1, b: 'x' },
        { a: 2, b: null },
      ];
      assert.deepEqual(connection.execute(ALL, []).rows, two);
      other.exec('alter table t add column c integer not null default 3');
      assert.deepEqual(
        connection.execute(ALL, []).rows,
        two.map((row) => ({ ...row, c: 3 })),
      );
      other.exec('alter table t drop column b; alter table t drop column c');
      assert.deepEqual(connection.run(ALL), [{ a: 1 }, { a: 2 }]);
      connection.close();
      other.close();
    } finally {
      rmSync(dir, { recursive: true });
    }
  });

  it('counts the rows of a statement that returns some, and those that another one changed', () => {
    const connection = new SqliteConnection(new DatabaseSync(':memory:'));
    connection.run('create table t (a integer)');
    const insert = 'insert into t values (1), (2) returning a';
    assert.deepEqual(connection.execute(insert, []), { rows: [{ a: 1 }, { a: 2 }], count: 2 });
    assert.deepEqual(connection.execute('delete from t', []), { rows: [], count: 2 });
    assert.deepEqual(connection.execute(ALL, []), { rows: [], count: 0 });
    connection.close();
  });

  it('gives SQLite no LIMIT that it would compile again after each binding, and the limit holds', async () => {
    const connection = new SqliteConnection(new DatabaseSync(':memory:'));
    connection.run('create table namespaces (id text)');
    connection.run("insert into namespaces values ('a'), ('b'), ('c'), ('d')");
    const texts: string[] = [];
    const db = watched(readerOn(connection, realTimers), ({ sql }) => texts.push(sql));
    const text = statement<{ most: number; skip: number }, { id: string }>(
      'select id from namespaces order by id limit :most offset :skip',
    );
    assert.deepEqual(await text.all(db, { most: 2, skip: 1 }), [{ id: 'b' }, { id: 'c' }]);
    assert.deepEqual(
      texts.map((sql) => /limit .*(?= offset)/.exec(sql)?.[0]),
      ['limit ?1 + 0'],
    );
    connection.close();
  });
});
