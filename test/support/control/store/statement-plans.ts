import { CompiledQuery, type KyselyPlugin, type QueryId, type RootOperationNode, sql } from 'kysely';
import type { Db, Store } from '../../../../src/control/store/store.ts';

/**
 * Explains the statements that a store function runs. PostgreSQL may not scan a whole table here, since the planner prefers that
 * for the few rows of a test.
 *
 * @param run the function; it gets a handle that records its statements
 * @returns for each statement the lines of the engine's plan
 */
export async function plansOf(store: Store, run: (db: Db) => Promise<unknown>): Promise<string[]> {
  return store.write(async (tx) => {
    const nodes: { node: RootOperationNode; queryId: QueryId }[] = [];
    const recorder: KyselyPlugin = {
      transformQuery({ node, queryId }) {
        nodes.push({ node, queryId });
        return node;
      },
      transformResult: async ({ result }) => result,
    };
    await run(tx.withPlugin(recorder));
    if (store.engine === 'postgres') await sql`set local enable_seqscan = off`.execute(tx);
    const explain = store.engine === 'postgres' ? 'explain' : 'explain query plan';
    const plans: string[] = [];
    for (const { node, queryId } of nodes) {
      const compiled = tx.getExecutor().compileQuery(node, queryId);
      const text = `${explain} ${compiled.sql}`;
      const { rows } = await tx.executeQuery<Record<string, unknown>>(
        CompiledQuery.raw(text, [...compiled.parameters]),
      );
      plans.push(rows.map((row) => String(row.detail ?? row['QUERY PLAN'])).join('\n'));
    }
    return plans;
  });
}
