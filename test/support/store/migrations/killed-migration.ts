/**
 * Migrates a database and kills itself before one of the statements. Arguments: engine, file or URL, number of statements to run.
 * Prints the number of statements when it was not killed.
 */
import { DatabaseSync } from 'node:sqlite';
import { Kysely, type KyselyPlugin } from 'kysely';
import { migrate } from '../../../../src/store/migrations/migrate.ts';
import { newPool, StoreDialect } from '../../../../src/store/postgres/driver.ts';
import type { Database } from '../../../../src/store/schema.ts';
import { SqliteConnection } from '../../../../src/store/sqlite/driver.ts';
import { GroupCommit } from '../../../../src/store/sqlite/group-commit.ts';

const [engine, target = '', most] = process.argv.slice(2);
let statements = 0;
const plugin: KyselyPlugin = {
  transformQuery({ node }) {
    if (statements >= Number(most)) process.kill(process.pid, 'SIGKILL');
    statements += 1;
    return node;
  },
  transformResult: async ({ result }) => result,
};
if (engine === 'postgres') {
  const db = new Kysely<Database>({ dialect: new StoreDialect(newPool(target, 1)) });
  await db.transaction().execute((tx) => migrate(tx.withPlugin(plugin), 'postgres'));
  await db.destroy();
} else {
  const writer = new SqliteConnection(new DatabaseSync(target));
  writer.run('pragma foreign_keys = OFF');
  const commits = new GroupCommit(writer, () => {});
  await commits.write((tx) => migrate(tx.withPlugin(plugin), 'sqlite'));
  writer.close();
}
process.stdout.write(String(statements));
