import { CompiledQuery, type KyselyPlugin, sql } from 'kysely';
import type { Db, Store } from '../../../src/store/store.ts';

/** The text of a statement, with what is bound to it. */
type Seen = Pick<CompiledQuery, 'sql' | 'parameters'>;

/** A handle on the same connection that tells of each statement, built by Kysely or given as text, before it runs. */
export function watched(db: Db, seen: (statement: Seen) => void): Db {
  const recorder: KyselyPlugin = {
    transformQuery({ node, queryId }) {
      seen(db.getExecutor().compileQuery(node, queryId));
      return node;
    },
    transformResult: async ({ result }) => result,
  };
  const handle = db.withPlugin(recorder);
  const run = handle.executeQuery.bind(handle);
  handle.executeQuery = (query, options) => {
    // Statements that Kysely built go to the executor, and not through this method.
    seen('compile' in query ? query.compile() : query);
    return run(query, options);
  };
  return handle;
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
    if (store.engine === 'postgres') await sql`set local enable_seqscan = off`.execute(tx);
    const explain = store.engine === 'postgres' ? 'explain' : 'explain query plan';
    const plans: string[] = [];
    for (const { sql: text, parameters } of statements) {
      const { rows } = await tx.executeQuery<Record<string, unknown>>(
        CompiledQuery.raw(`${explain} ${text}`, [...parameters]),
      );
      plans.push(rows.map((row) => String(row.detail ?? row['QUERY PLAN'])).join('\n'));
    }
    return plans;
  });
}
