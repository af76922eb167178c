import { sql } from 'kysely';
import type { Tx } from '../store.ts';

/**
 * The last number given to an event of each of these customers. The caller must have locked the cursor of the fan-out.
 * @returns no number for a customer who was deleted
 */
export async function eventNumbers(tx: Tx, owners: readonly string[]): Promise<Map<string, number>> {
  const known = await knownNumbers(tx, owners);
  const missing = owners.filter((owner) => !known.has(owner));
  if (missing.length === 0) return known;
  await tx
    .insertInto('event_counters')
    .columns(['user_id', 'seq'])
    .expression((from) =>
      from
        .selectFrom('users')
        .select(['id', sql<number>`0`.as('seq')])
        .where('id', 'in', missing)
        .orderBy('id'),
    )
    .onConflict((conflict) => conflict.doNothing())
    .execute();
  return knownNumbers(tx, owners);
}

async function knownNumbers(tx: Tx, owners: readonly string[]): Promise<Map<string, number>> {
  const rows = await tx.selectFrom('event_counters').selectAll().where('user_id', 'in', owners).execute();
  return new Map(rows.map((row) => [row.user_id, row.seq]));
}

export async function saveEventNumbers(tx: Tx, numbers: ReadonlyMap<string, number>): Promise<void> {
  for (const [owner, seq] of numbers) {
    await tx.updateTable('event_counters').set({ seq }).where('user_id', '=', owner).execute();
  }
}
