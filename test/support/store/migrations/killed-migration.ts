/**
 * Migrates a database and kills itself before one of the statements. Arguments: engine, file or URL, number of statements to run.
 * Prints the number of statements when it was not killed.
 */
import { DatabaseSync } from 'node:sqlite';
import { uuidsOfTimes } from '../../../../src/base/ids.ts';
import { realTimers } from '../../../../src/base/lifecycle/timers.ts';
import { migrate } from '../../../../src/store/migrations/migrate.ts';
import { inTransaction, newPool } from '../../../../src/store/postgres/driver.ts';
import { SqliteConnection } from '../../../../src/store/sqlite/driver.ts';
import { GroupCommit } from '../../../../src/store/sqlite/group-commit.ts';
import type { Tx } from '../../../../src/store/store.ts';

const [engine, target = '', most] = process.argv.slice(2);
let statements = 0;
const migrateCounted = (tx: Tx): Promise<void> => {
  const execute: Tx['execute'] = (sql, values) => {
    if (statements >= Number(most)) process.kill(process.pid, 'SIGKILL');
    statements += 1;
    return tx.execute(sql, values);
  };
  return migrate({ ...tx, execute }, Date.now);
};
if (engine === 'postgres') {
  const pool = newPool(target, 1);
  await inTransaction(pool, migrateCounted);
  await pool.end();
} else {
  const writer = new SqliteConnection(new DatabaseSync(target));
  writer.run('pragma foreign_keys = OFF');
  const commits = new GroupCommit(writer, () => {}, {
    timers: realTimers,
    rowId: uuidsOfTimes(),
    checkPlace: () => {},
  });
  await commits.write(migrateCounted);
  writer.close();
}
process.stdout.write(String(statements));
