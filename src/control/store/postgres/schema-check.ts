import { sql } from 'kysely';
import type { ChangeSource } from '../../../feed/change-source.ts';
import { LATEST_MIGRATION } from '../migrations/migrate.ts';
import type { Reader } from '../store.ts';

/** Name of the newest migration of a database. Rejects in a database without tables. */
export async function schemaOf(read: Reader): Promise<string> {
  const { rows } = await sql<{
    name: string;
  }>`select name from kysely_migration order by name desc limit 1`.execute(read);
  return rows[0]?.name ?? 'none';
}

/**
 * The changes of a database that this process must not migrate: every call fails until a control process has brought the tables
 * up to date. Checked once.
 */
export function afterMigration(read: Reader, changes: ChangeSource): ChangeSource {
  let isCurrent = false;
  async function check(): Promise<void> {
    if (isCurrent) return;
    const found = await schemaOf(read);
    if (found < LATEST_MIGRATION) {
      throw new Error(
        `the database has schema ${found}, ${LATEST_MIGRATION} is needed: start a control process of this release first`,
      );
    }
    isCurrent = true;
  }
  return {
    async bounds() {
      await check();
      return changes.bounds();
    },
    async since(seq, limit) {
      await check();
      return changes.since(seq, limit);
    },
    async openSnapshot() {
      await check();
      return changes.openSnapshot();
    },
    onChange: (listener) => changes.onChange(listener),
    heardAt: () => changes.heardAt(),
  };
}
