import assert from 'node:assert/strict';
import { DatabaseSync } from 'node:sqlite';
import { it } from 'node:test';
import { sql } from 'kysely';
import { GroupCommit } from './group-commit.ts';
import { SqliteConnection } from './sqlite-driver.ts';

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
  const commits = new GroupCommit(connection, () => {});
  await commits.write((tx) => sql`create table t (x integer)`.execute(tx));
  connection.faults.set('commit', 1).set('rollback', 1);
  await assert.rejects(
    commits.write((tx) => sql`insert into t values (1)`.execute(tx)),
    /disk I\/O error in commit/,
  );
  await commits.write((tx) => sql`insert into t values (2)`.execute(tx));
  assert.deepEqual(
    connection.run('select x from t').map((row) => ({ ...(row as object) })),
    [{ x: 2 }],
  );
  await commits.close();
  connection.close();
});
