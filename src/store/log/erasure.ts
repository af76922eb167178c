import { statement } from '../engine/statement.ts';
import { markErasure } from '../engine/unit-marks.ts';
import type { Db, Tx } from '../store.ts';

const IS_DUE = statement<object, { seq: number }>(
  `select erasure.seq from feed_cursors as erasure join feed_cursors as fan_out on fan_out.name = 'webhooks'
  where erasure.name = 'erasure' and erasure.seq < fan_out.seq`,
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
  where seq > :from and seq <= (select seq from feed_cursors where name = 'webhooks') order by seq limit :limit`,
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
 * of that later change. The rows stay, so that `seq` has no gap; a view that meets such an upsert passes over it, for the
 * later change follows. What a write and a deletion leave when they race is erased by the same rule: the log has one order.
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
