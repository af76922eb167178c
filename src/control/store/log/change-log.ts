import type { ChangeBody, ChangeCause } from '../../../core/change.ts';
import { encodeChange } from '../../../feed/change-codec.ts';
import { markChange } from '../engine/unit-marks.ts';
import type { Tx } from '../store.ts';

/** A change before it is appended, without `seq` and `at`, which the log assigns. */
export type NewChange = { readonly owner: string | null; readonly cause: ChangeCause } & ChangeBody;

/** Rows in one insert: well below the parameters that either engine allows in a statement. */
const CHUNK = 200;

/**
 * Appends changes to the log. Call it last in a unit of work: from here to the commit the unit locks the row of the sequence
 * number, so that commit order and `seq` order are the same.
 *
 * After the commit the listeners of `ChangeSource.onChange` are called with the last `seq`, in every process.
 * @param at milliseconds since the epoch
 * @returns the `seq` of the last change; the head of the log when there are none
 * @throws ChangeFormatError when a view could not read one of them; none is written
 */
export async function appendChanges(tx: Tx, changes: readonly NewChange[], at: number): Promise<number> {
  const { seq: last } = await tx
    .updateTable('feed_head')
    .set((eb) => ({ seq: eb('seq', '+', changes.length) }))
    .where('id', '=', 1)
    .returning('seq')
    .executeTakeFirstOrThrow();
  const first = last - changes.length + 1;
  for (let start = 0; start < changes.length; start += CHUNK) {
    const rows = changes
      .slice(start, start + CHUNK)
      .map((change, index) => encodeChange({ ...change, seq: first + start + index, at }));
    await tx.insertInto('change_log').values(rows).execute();
  }
  if (changes.length > 0) markChange(tx, last);
  return last;
}

/**
 * Deletes the oldest part of the log: the rows before the first one that is not older than `beforeAt`. The rest has no gap, even
 * where the clocks of two processes differ. Changes that the fan-out has not read stay, however old they are.
 * @param beforeAt milliseconds since the epoch
 * @param limit rows at most; it bounds how long other units wait
 * @returns rows deleted; fewer than `limit` means that no more are old enough
 */
export async function pruneLog(tx: Tx, beforeAt: number, limit: number): Promise<number> {
  const last = await tx
    .selectFrom('change_log')
    .select(['seq', 'at'])
    .where('seq', '<=', (change) =>
      change.selectFrom('feed_cursors').select('feed_cursors.seq').where('name', '=', 'webhooks'),
    )
    .orderBy('seq')
    .limit(limit)
    .execute()
    .then((rows) => {
      const keep = rows.findIndex((row) => row.at >= beforeAt);
      return rows[keep < 0 ? rows.length - 1 : keep - 1];
    });
  if (last === undefined) return 0;
  const { numDeletedRows } = await tx
    .deleteFrom('change_log')
    .where('seq', '<=', last.seq)
    .executeTakeFirstOrThrow();
  return Number(numDeletedRows);
}

/** Standard Base64 of a stored payload; null stays null. */
export function base64(data: Uint8Array | null): string | null {
  return data === null ? null : Buffer.from(data.buffer, data.byteOffset, data.byteLength).toString('base64');
}
