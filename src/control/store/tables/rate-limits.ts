import { sql } from 'kysely';
import type { Db, Tx } from '../store.ts';

/**
 * Counts a hit in a key's period, and starts a new period when the last one is over.
 * @param limit hits in one period
 * @param length of a period, milliseconds
 * @returns false, with nothing changed, when the period has `limit` hits
 */
export async function countHit(
  tx: Tx,
  key: string,
  limit: number,
  length: number,
  now: number,
): Promise<boolean> {
  const over = sql<boolean>`(rate_windows.started_at <= ${now - length} or rate_windows.started_at > ${now})`;
  const row = await tx
    .insertInto('rate_windows')
    .values({ key, started_at: now, count: 1 })
    .onConflict((conflict) =>
      conflict
        .column('key')
        .doUpdateSet({
          started_at: sql<number>`case when ${over} then ${now} else rate_windows.started_at end`,
          count: sql<number>`case when ${over} then 1 else rate_windows.count + 1 end`,
        })
        .where(sql<boolean>`(${over} or rate_windows.count < ${limit})`),
    )
    .returning('count')
    .executeTakeFirst();
  return row !== undefined;
}

/** Uncounts a hit that was counted at `takenAt`, in each period that had begun by then. */
export async function uncountHit(tx: Tx, keys: readonly string[], takenAt: number): Promise<void> {
  await tx
    .updateTable('rate_windows')
    .set({ count: sql<number>`rate_windows.count - 1` })
    .where('key', 'in', keys)
    .where('started_at', '<=', takenAt)
    .where('count', '>', 0)
    .execute();
}

/** The periods of the keys that have one. */
export async function readPeriods(
  db: Db,
  keys: readonly string[],
): Promise<Map<string, { startedAt: number; count: number }>> {
  const rows = await db.selectFrom('rate_windows').selectAll().where('key', 'in', keys).execute();
  return new Map(rows.map((row) => [row.key, { startedAt: row.started_at, count: row.count }]));
}

/** Deletes periods that started at `before` or earlier. */
export async function forgetPeriods(tx: Tx, before: number): Promise<void> {
  await tx.deleteFrom('rate_windows').where('started_at', '<=', before).execute();
}
