import { nextEpoch } from '../../base/epoch.ts';
import { statement } from '../engine/statement.ts';
import type { ServiceFact } from '../schema.ts';
import type { Db, Tx } from '../store.ts';

const READ = statement<{ name: ServiceFact }, { value: string }>(
  'select value from service_facts where name = :name',
);

/** @returns null when the fact has not been written */
export async function readFact(db: Db, name: ServiceFact): Promise<string | null> {
  return (await READ(db, { name })).rows[0]?.value ?? null;
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

/**
 * Gives the database a later epoch: every view is built again from it.
 * @param now milliseconds since the epoch of Unix
 * @returns the new one
 */
export async function renewEpoch(tx: Tx, now: number): Promise<string> {
  const epoch = await readFact(tx, 'epoch');
  if (epoch === null) throw new Error('the database has lost its epoch (table service_facts)');
  const next = nextEpoch(epoch, now);
  const { numUpdatedRows } = await tx
    .updateTable('service_facts')
    .set({ value: next })
    .where('name', '=', 'epoch')
    .where('value', '=', epoch)
    .executeTakeFirst();
  // Another process has renewed it meanwhile: that one holds.
  return numUpdatedRows > 0n ? next : ((await readFact(tx, 'epoch')) ?? next);
}
