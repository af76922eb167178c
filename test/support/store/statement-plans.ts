import type { Db, Store } from '../../../src/store/store.ts';

/** The text of a statement, with what is bound to it. */
type Seen = Readonly<{ sql: string; values: readonly unknown[] }>;

/** A handle on the same connection that tells of each statement before it runs. */
export function watched<D extends Db>(db: D, seen: (statement: Seen) => void): D {
  return {
    ...db,
    execute(sql, values) {
      seen({ sql, values });
      return db.execute(sql, values);
    },
  };
}

/**
 * Explains the statements that a store function runs. PostgreSQL may not scan a whole table here, since the planner prefers that
 * for the few rows of a test.
 *
 * @param run the function; it gets a handle that records its statements
 * @returns for each statement the lines of the engine's plan
 */
export async function plansOf(store: Store, run: (db: Db) => Promise<unknown>): Promise<string[]> {
  return store.write(async (tx) => {
    const statements: Seen[] = [];
    await run(watched(tx, (statement) => statements.push(statement)));
    if (store.engine === 'postgres') await tx.execute('set local enable_seqscan = off', []);
    const explain = store.engine === 'postgres' ? 'explain' : 'explain query plan';
    const plans: string[] = [];
    for (const { sql, values } of statements) {
      const { rows } = await tx.execute<Record<string, unknown>>(`${explain} ${sql}`, values);
      plans.push(rows.map((row) => String(row.detail ?? row['QUERY PLAN'])).join('\n'));
    }
    return plans;
  });
}
