import { sql } from 'kysely';
import type { Db, Tx } from '../store.ts';

/** The row of `feed_cursors` with the `seq` up to which superseded payloads were erased. */
const CURSOR = 'erasure';

/** Keys of one statement, with a `seq` each: below the parameters that either engine allows. */
const CHUNK = 250;

/** Whether the log has payloads to erase: changes that the fan-out has passed and the erasure has not. */
export async function isErasureDue(db: Db): Promise<boolean> {
  const row = await db
    .selectFrom('feed_cursors as erasure')
    .innerJoin('feed_cursors as fan_out', (join) => join.on('fan_out.name', '=', 'webhooks'))
    .where('erasure.name', '=', CURSOR)
    .whereRef('erasure.seq', '<', 'fan_out.seq')
    .select('erasure.seq')
    .executeTakeFirst();
  return row !== undefined;
}

/**
 * Takes payloads out of the log that a later change of the same record replaced or deleted, as far as the fan-out has told
 * of that later change. The rows stay, so that `seq` has no gap; a view that meets such an upsert passes over it, for the
 * later change follows. What a write and a deletion leave when they race is erased by the same rule: the log has one order.
 * @param limit changes that the unit goes through at most
 * @returns how many it went through; fewer than `limit` means that there are no more
 */
export async function eraseSuperseded(tx: Tx, limit: number): Promise<number> {
  // Held until the unit ends: one process at a time erases.
  const { seq: from } = await tx
    .selectFrom('feed_cursors')
    .select('seq')
    .where('name', '=', CURSOR)
    .forUpdate()
    .executeTakeFirstOrThrow();
  const changes = await tx
    .selectFrom('change_log')
    .select(['seq', 'key'])
    .where('seq', '>', from)
    .where('seq', '<=', (log) =>
      log.selectFrom('feed_cursors').select('feed_cursors.seq').where('name', '=', 'webhooks'),
    )
    .orderBy('seq')
    .limit(limit)
    .execute();
  const last = changes.at(-1);
  if (last === undefined) return 0;
  const latest = new Map<string, number>();
  for (const { key, seq } of changes) if (key !== null) latest.set(key, seq);
  await eraseBefore(tx, [...latest]);
  await tx.updateTable('feed_cursors').set({ seq: last.seq }).where('name', '=', CURSOR).execute();
  return changes.length;
}

/** Erases the payloads of each key in changes before its `seq`. */
async function eraseBefore(tx: Tx, latest: readonly (readonly [key: string, seq: number])[]): Promise<void> {
  for (let start = 0; start < latest.length; start += CHUNK) {
    const rows = latest
      .slice(start, start + CHUNK)
      .map(([key, seq]) => sql`(cast(${key} as text), cast(${seq} as bigint))`);
    // CROSS JOIN holds SQLite to the order of the tables: with many keys it would else scan the whole log instead of looking
    // each key up in its index. Both engines name the columns of VALUES so.
    await sql`update change_log set data = null where seq in (
      select superseded.seq from (values ${sql.join(rows)}) as latest cross join change_log as superseded
      where superseded.data is not null
        and superseded.key = latest.column1 and superseded.seq < latest.column2)`.execute(tx);
  }
}
