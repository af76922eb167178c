import type { Change, ChangeBody, ChangeCause } from '../../protocol/change.ts';
import { encodeNewChange } from '../../protocol/changes/change-codec.ts';
import { markChange, markErasure } from '../engine/signals.ts';
import { rowInsert, statement } from '../engine/statement.ts';
import type { Db, Tx } from '../store.ts';

/** One row, id 1: the last `seq` given out. */
export interface FeedHeadTable {
  id: number;
  seq: number;
}

export interface ChangeLogTable {
  seq: number;
  at: number;
  owner: string | null;
  cause: 'direct' | 'cascade' | 'expiry';
  type: string;
  namespace: string;
  /** Record changes only. */
  key: string | null;
  /** JSON of the rest of the Change body, record payloads aside. */
  body: string;
  /** Payload of an upserted record; null for other types, and once a later delete or expiry erased it. */
  data: Uint8Array | null;
}

/**
 * What a change says, of the types that are appended as they are. Items of datasets are stored as parts that rows of the log
 * name: `appendItemChanges` appends those.
 */
export type NewBody = Exclude<ChangeBody, { readonly type: 'dataset.items' }>;

/** A change before it is appended, without `seq` and `at`, which the log assigns. */
export type NewChange = { readonly owner: string | null; readonly cause: ChangeCause } & NewBody;

/** Changes of the log in a block: a read of a customer's changes looks at all those of a block with one of them. */
export const BLOCK = 16;

const TAKE_SEQ = statement<{ changes: number }, { seq: number; epoch: string | null }>(
  `update feed_head set seq = seq + :changes where id = 1
  returning seq, (select value from service_facts where name = 'epoch') as epoch`,
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
  const head = await TAKE_SEQ.first(tx, { changes: count });
  if (head === null) throw new Error('the database has lost its sequence number (table feed_head)');
  const { seq: last, epoch } = head;
  if (epoch === null) throw new Error('the database has lost its epoch (table service_facts)');
  const rows = rowsOf(last - count + 1);
  await APPEND(tx, rows.map(valuesOf));
  const blocks = blocksOf(rows);
  const [block] = blocks;
  if (blocks.length === 1 && block) await tx.insertLast(ADD_BLOCKS, block);
  else await ADD_BLOCKS(tx, blocks);
  if (count > 0) markChange(tx, { seq: last, epoch }, appended);
  return last;
}

/** Which blocks of the log have changes of which customer. */
const ADD_BLOCKS = rowInsert('feed_blocks', { owner: 'text', block: 'bigint' }, 'on conflict do nothing');

/**
 * An index of the log by owner would cost each insert 10 to 50 %, and so would a row for each write. A customer's later changes in a
 * block find its row and write nothing.
 */
function blocksOf(rows: readonly ChangeLogTable[]): [owner: string, block: number][] {
  const [only] = rows;
  if (rows.length === 1 && only)
    return only.owner === null ? [] : [[only.owner, Math.floor(only.seq / BLOCK)]];
  const blocks: [owner: string, block: number][] = [];
  const last = new Map<string, number>();
  for (const { owner, seq } of rows) {
    const block = Math.floor(seq / BLOCK);
    if (owner === null || last.get(owner) === block) continue;
    last.set(owner, block);
    blocks.push([owner, block]);
  }
  return blocks;
}

function valuesOf(row: ChangeLogTable) {
  return [row.seq, row.at, row.owner, row.cause, row.type, row.namespace, row.key, row.body, row.data];
}

/** Up to here the fan-out has told everybody. */
const TOLD = `(select min(seq) from (select seq from feed_cursors where name = 'webhooks'
  union all select behind from event_counters where behind is not null) as told)`;

const OLDEST = statement<{ limit: number }, { seq: number; at: number }>(
  `select seq, at from change_log where seq <= ${TOLD} order by seq limit :limit`,
);

const PRUNE = statement<{ seq: number }>('delete from change_log where seq <= :seq');

/** A block that goes on after `seq` stays. The owners of the rows lead to their blocks by the primary key. */
const PRUNE_BLOCKS = statement<{ seq: number; block: number }>(
  `delete from feed_blocks where block < :block
    and owner in (select distinct owner from change_log where seq <= :seq and owner is not null)`,
);

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
  await PRUNE_BLOCKS.run(tx, { seq: last.seq, block: Math.floor((last.seq + 1) / BLOCK) });
  return PRUNE.run(tx, { seq: last.seq });
}

/** Standard Base64 of a stored payload; null stays null. */
export function base64(data: Uint8Array | null): string | null {
  return data === null ? null : Buffer.from(data.buffer, data.byteOffset, data.byteLength).toString('base64');
}

const IS_DUE = statement<object, { seq: number }>(
  `select seq from feed_cursors where name = 'erasure' and seq < ${TOLD}`,
);

/** Whether the log has payloads to erase: changes that the fan-out has passed and the erasure has not. */
export async function isErasureDue(db: Db): Promise<boolean> {
  return (await IS_DUE.all(db, {})).length > 0;
}

const HOLD_CURSOR = statement<object, { seq: number }>(
  "select seq from feed_cursors where name = 'erasure'",
  {
    lock: 'for update',
  },
);

const MOVE_CURSOR = statement<{ seq: number }>("update feed_cursors set seq = :seq where name = 'erasure'");

const PASSED = statement<{ from: number; limit: number }, { seq: number; key: string | null }>(
  `select seq, key from change_log
  where seq > :from and seq <= ${TOLD} order by seq limit :limit`,
);

/**
 * Erases the payloads of each key in changes before its `seq`. CROSS JOIN holds SQLite to the order of the tables: with many keys it
 * would else scan the whole log instead of looking each key up in its index.
 */
const eraseBefore = (latestKeys: string) => `update change_log set data = null where seq in (
    select superseded.seq from ${latestKeys} cross join change_log as superseded
    where superseded.data is not null
      and superseded.key = latest.key and superseded.seq < cast(latest.value as bigint))`;

/** `latest`: an object of JSON, the last `seq` of each key. */
const ERASE_BEFORE = statement<{ latest: string }>(eraseBefore('json_each(:latest) as latest'), {
  postgres: eraseBefore('json_each_text(cast(:latest as json)) as latest'),
});

/**
 * Takes payloads out of the log that a later change of the same record replaced or deleted, as far as the fan-out has told
 * of that later change. The rows stay, so that `seq` has no gap; a view that meets such an upsert withholds the record,
 * until the later change comes. What a write and a deletion leave when they race is erased by the same rule: the log has one order.
 * @param limit changes that the unit goes through at most
 * @returns how many it went through; fewer than `limit` means that there are no more
 */
export async function eraseSuperseded(tx: Tx, limit: number): Promise<number> {
  // Held until the unit ends: one process at a time erases.
  const cursor = await HOLD_CURSOR.first(tx, {});
  if (cursor === null) throw new Error("the database has lost the erasure's cursor (table feed_cursors)");
  const changes = await PASSED.all(tx, { from: cursor.seq, limit });
  const last = changes.at(-1);
  if (last === undefined) return 0;
  const latest = new Map<string, number>();
  for (const { key, seq } of changes) if (key !== null) latest.set(key, seq);
  if (latest.size > 0) {
    const erased = await ERASE_BEFORE.run(tx, { latest: jsonObject(latest) });
    if (erased > 0) markErasure(tx);
  }
  await MOVE_CURSOR.run(tx, { seq: last.seq });
  return changes.length;
}

/** The map as an object of JSON. An object with a member for each key would cost more than the statement. */
function jsonObject(map: ReadonlyMap<string, number>): string {
  return `{${Array.from(map, ([key, value]) => `${JSON.stringify(key)}:${value}`).join(',')}}`;
}
