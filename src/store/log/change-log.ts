import type { Change, ChangeBody, ChangeCause } from '../../protocol/change.ts';
import { encodeNewChange } from '../../protocol/changes/change-codec.ts';
import { rowInsert, statement } from '../engine/statement.ts';
import { markChange } from '../engine/unit-marks.ts';
import type { ChangeLogTable } from '../schema.ts';
import type { Tx } from '../store.ts';

/**
 * What a change says, of the types that are appended as they are. Items of datasets are stored as parts that rows of the log
 * name: `appendItemChanges` appends those.
 */
export type NewBody = Exclude<ChangeBody, { readonly type: 'dataset.items' }>;

/** A change before it is appended, without `seq` and `at`, which the log assigns. */
export type NewChange = { readonly owner: string | null; readonly cause: ChangeCause } & NewBody;

const TAKE_SEQ = statement<{ changes: number }, { seq: number }>(
  'update feed_head set seq = seq + :changes where id = 1 returning seq',
);

const APPEND = rowInsert('change_log', {
  seq: 'bigint',
  at: 'bigint',
  owner: 'text',
  cause: 'text',
  type: 'text',
  namespace: 'text',
  key: 'text',
  body: 'text',
  data: 'bytea',
});

/**
 * Appends changes to the log. Call it last in a unit of work: from here to the commit the unit locks the row of the sequence
 * number, so that commit order and `seq` order are the same.
 *
 * After the commit the listeners of `ChangeSource.onChange` are called with the last `seq`, in every process.
 * @param at milliseconds since the epoch
 * @returns the `seq` of the last change; the head of the log when there are none
 * @throws ChangeFormatError when a view could not read one of them; none is written
 */
export function appendChanges(tx: Tx, changes: readonly NewChange[], at: number): Promise<number> {
  const appended: Change[] = [];
  return appendEncoded(
    tx,
    changes.length,
    (first) =>
      changes.map((body, index) => {
        const { row, change } = encodeNewChange(body, first + index, at);
        appended.push(change);
        return row;
      }),
    appended,
  );
}

/**
 * As `appendChanges`, for rows that are encoded already.
 * @param rowsOf makes the rows, given the `seq` of the first; may throw
 * @param appended has them as changes once the rows are made; null: only the database can read them
 */
export async function appendEncoded(
  tx: Tx,
  count: number,
  rowsOf: (first: number) => readonly ChangeLogTable[],
  appended: readonly Change[] | null = null,
): Promise<number> {
  const heads = await TAKE_SEQ.all(tx, { changes: count });
  const last = heads[0]?.seq;
  if (last === undefined) throw new Error('the database has lost its sequence number (table feed_head)');
  const rows = rowsOf(last - count + 1);
  await APPEND(tx, rows.map(valuesOf));
  if (count > 0) markChange(tx, last, appended);
  return last;
}

function valuesOf(row: ChangeLogTable) {
  return [row.seq, row.at, row.owner, row.cause, row.type, row.namespace, row.key, row.body, row.data];
}

const OLDEST = statement<{ limit: number }, { seq: number; at: number }>(
  `select seq, at from change_log where seq <= (select seq from feed_cursors where name = 'webhooks')
  order by seq limit :limit`,
);

const PRUNE = statement<{ seq: number }>('delete from change_log where seq <= :seq');

/**
 * Deletes the oldest part of the log: the rows before the first one that is not older than `beforeAt`. The rest has no gap, even
 * where the clocks of two processes differ. Changes that the fan-out has not read stay, however old they are.
 * @param beforeAt milliseconds since the epoch
 * @param limit rows at most; it bounds how long other units wait
 * @returns rows deleted; fewer than `limit` means that no more are old enough
 */
export async function pruneLog(tx: Tx, beforeAt: number, limit: number): Promise<number> {
  const rows = await OLDEST.all(tx, { limit });
  const keep = rows.findIndex((row) => row.at >= beforeAt);
  const last = rows[keep < 0 ? rows.length - 1 : keep - 1];
  if (last === undefined) return 0;
  return PRUNE.run(tx, { seq: last.seq });
}

/** Standard Base64 of a stored payload; null stays null. */
export function base64(data: Uint8Array | null): string | null {
  return data === null ? null : Buffer.from(data.buffer, data.byteOffset, data.byteLength).toString('base64');
}
