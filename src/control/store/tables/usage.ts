import type { Clock } from '../../../core/clock.ts';
import { sumsOf, type UsageCount, type UsageSink } from '../../../feed/usage-sink.ts';
import type { Store, Tx } from '../store.ts';

/** Rows in one insert: three parameters each, well below what either engine allows in a statement. */
const CHUNK = 200;

/** Hourly sums in the database. The id of a batch is stored in the unit that adds its counts. */
export function usageSink({ write }: Pick<Store, 'write'>, clock: Clock): UsageSink {
  return {
    async add(batch) {
      const sums = sumsOf(batch);
      await write(async (tx) => {
        const isNew = await addBatch(tx, batch.node, batch.batch, clock());
        if (!isNew) return;
        for (let start = 0; start < sums.length; start += CHUNK) {
          await addSums(tx, sums.slice(start, start + CHUNK));
        }
      });
    },
  };
}

/** @returns false when this batch of the node was added before */
async function addBatch(tx: Tx, node: string, batch: string, now: number): Promise<boolean> {
  const row = await tx
    .insertInto('usage_batches')
    .values({ node, batch, added_at: now })
    .onConflict((conflict) => conflict.columns(['node', 'batch']).doNothing())
    .returning('batch')
    .executeTakeFirst();
  return row !== undefined;
}

/** @param sums each namespace and hour once: PostgreSQL refuses a row that one statement changes twice */
async function addSums(tx: Tx, sums: readonly UsageCount[]): Promise<void> {
  await tx
    .insertInto('usage_hours')
    .values(sums.map(({ namespaceId, hour, answers }) => ({ namespace_id: namespaceId, hour, answers })))
    .onConflict((conflict) =>
      conflict.columns(['namespace_id', 'hour']).doUpdateSet((eb) => ({
        answers: eb('usage_hours.answers', '+', eb.ref('excluded.answers')),
      })),
    )
    .execute();
}
