import { sql } from 'kysely';
import type { Reader } from '../store.ts';

/** Name of the newest migration of a database. Rejects in a database without tables. */
export async function schemaOf(read: Reader): Promise<string> {
  const { rows } = await sql<{
    name: string;
  }>`select name from kysely_migration order by name desc limit 1`.execute(read);
  return rows[0]?.name ?? 'none';
}
