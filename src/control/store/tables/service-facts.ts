import type { ServiceFact } from '../schema.ts';
import type { Db, Tx } from '../store.ts';

/** @returns null when the fact has not been written */
export async function readFact(db: Db, name: ServiceFact): Promise<string | null> {
  const row = await db
    .selectFrom('service_facts')
    .select('value')
    .where('name', '=', name)
    .executeTakeFirst();
  return row?.value ?? null;
}

/**
 * Writes a fact unless there is one. Safe when several processes start together: the first one wins.
 * @returns the stored value: `value`, or the one that was written first
 */
export async function writeFactOnce(tx: Tx, name: ServiceFact, value: string): Promise<string> {
  await tx
    .insertInto('service_facts')
    .values({ name, value })
    .onConflict((conflict) => conflict.doNothing())
    .execute();
  return (await readFact(tx, name)) ?? value;
}
