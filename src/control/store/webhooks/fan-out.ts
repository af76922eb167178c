import { setImmediate as turn } from 'node:timers/promises';
import { sql } from 'kysely';
import type { Change } from '../../../core/change.ts';
import type { Tier } from '../../../core/tiers.ts';
import { WEBHOOK_EVENTS } from '../../../core/webhooks.ts';
import { decodeChange } from '../../../feed/change-codec.ts';
import { markWork } from '../engine/unit-marks.ts';
import type { WebhookDeliveriesTable } from '../schema.ts';
import type { Db, Tx } from '../store.ts';
import { WAITS } from './deliveries.ts';

/** The row of `feed_cursors` with the `seq` up to which the fan-out has read the log. */
const CURSOR = 'webhooks';

/** Rows in one insert: well below the parameters that either engine allows in a statement. */
const CHUNK = 100;

/** The last change after `seq`, of `size` at most; null when there is none. */
export async function lastChange(db: Db, seq: number, size: number): Promise<number | null> {
  const { last } = await db
    .selectFrom('change_log')
    .select((change) => change.fn.max<number | null>('seq').as('last'))
    .where('seq', '>', seq)
    .where('seq', '<=', seq + size)
    .executeTakeFirstOrThrow();
  return last;
}

/**
 * The customers who have to be told of changes after one `seq` up to another, as far as that can be seen without reading
 * them out: most changes concern no webhook at all, and must not cost much.
 * @returns how many enabled webhooks each of them has
 */
export async function customersConcerned(db: Db, after: number, until: number): Promise<Map<string, number>> {
  const rows = await db
    .selectFrom('webhooks')
    .select((webhook) => ['user_id', webhook.fn.countAll<number>().as('count')])
    .where('enabled', '=', 1)
    .where('user_id', 'in', (webhook) =>
      webhook
        .selectFrom('change_log')
        .select((change) => change.ref('owner').$notNull().as('owner'))
        .where('seq', '>', after)
        .where('seq', '<=', until)
        .where('cause', '<>', 'expiry')
        .where('type', 'in', Object.keys(WEBHOOK_EVENTS))
        .where('owner', 'is not', null),
    )
    .groupBy('user_id')
    .execute();
  return new Map(rows.map((row) => [row.user_id, row.count]));
}

/** The changes of these owners after one `seq` up to another, in order, whole. */
export async function changesOf(
  tx: Tx,
  owners: readonly string[],
  after: number,
  until: number,
  limit: number,
): Promise<Change[]> {
  const rows = await tx
    .selectFrom('change_log')
    .selectAll()
    .where('seq', '>', after)
    .where('seq', '<=', until)
    .where('owner', 'in', owners)
    .orderBy('seq')
    .limit(limit)
    .execute();
  return rows.map(decodeChange);
}

/** An enabled webhook, as far as it matters what is enqueued for it. */
export interface TargetRow {
  readonly id: string;
  readonly user_id: string;
  /** Of its owner. */
  readonly tier: Tier;
  readonly events: string;
  readonly namespaces: string;
  readonly starts_after: number;
  readonly attempt_minutes: string;
}

/**
 * The enabled webhooks of these customers, held until the unit ends: none of them is disabled or deleted, and nothing of
 * theirs is sent off or settled, while the unit counts what waits.
 */
export function holdEnabled(tx: Tx, owners: readonly string[]): Promise<TargetRow[]> {
  return tx
    .selectFrom('webhooks as w')
    .innerJoin('users as u', 'u.id', 'w.user_id')
    .select([
      'w.id',
      'w.user_id',
      'u.tier',
      'w.events',
      'w.namespaces',
      'w.starts_after',
      'w.attempt_minutes',
    ])
    .where('w.user_id', 'in', owners)
    .where('w.enabled', '=', 1)
    .orderBy('w.id')
    .forNoKeyUpdate('w')
    .execute();
}

/** How many deliveries of each webhook wait; no entry for none. */
export async function countWaiting(tx: Tx, ids: readonly string[]): Promise<Map<string, number>> {
  const rows = await tx
    .selectFrom('webhook_deliveries')
    .select((delivery) => ['webhook_id', delivery.fn.countAll<number>().as('count')])
    .where('webhook_id', 'in', ids)
    .where(WAITS)
    .groupBy('webhook_id')
    .execute();
  return new Map(rows.map((row) => [row.webhook_id, row.count]));
}

/** The newest dropped deliveries of a webhook made after `since`, up to `limit`: how many, and when the oldest was made. */
export async function droppedSince(
  tx: Tx,
  id: string,
  since: number,
  limit: number,
): Promise<{ readonly count: number; readonly oldest: number | null }> {
  const newest = tx
    .selectFrom('webhook_deliveries')
    .select('created_at')
    .where('webhook_id', '=', id)
    .where('created_at', '>', since)
    .where('status', '=', 'dropped')
    .orderBy('created_at', 'desc')
    .limit(limit);
  return tx
    .selectFrom(newest.as('newest'))
    .select(({ fn }) => [
      fn.countAll<number>().as('count'),
      fn.min<number | null>('newest.created_at').as('oldest'),
    ])
    .executeTakeFirstOrThrow();
}

export async function insertDeliveries(tx: Tx, rows: readonly WebhookDeliveriesTable[]): Promise<void> {
  for (let start = 0; start < rows.length; start += CHUNK) {
    // The embedded engine's statements are synchronous: without this, nothing else would run until the last of them.
    if (start > 0) await turn();
    await tx
      .insertInto('webhook_deliveries')
      .values(rows.slice(start, start + CHUNK))
      .execute();
  }
}

/** Something of these webhooks, which the unit holds, is due at `at`. Wakes the dispatchers. */
export async function setDueBy(tx: Tx, ids: readonly string[], at: number): Promise<void> {
  await tx
    .updateTable('webhooks')
    .set({ next_due_at: at })
    .where('id', 'in', ids)
    .where((webhook) => webhook.or([webhook('next_due_at', 'is', null), webhook('next_due_at', '>', at)]))
    .execute();
  markWork(tx, 'deliveries');
}

/** Where the fan-out stands, and both ends of the log. */
export interface FanOutPosition {
  readonly cursor: number;
  /** The first change that there is; the next one there will be, when there is none. */
  readonly oldest: number;
  /** The last `seq` given out. */
  readonly head: number;
}

/** All of one moment. */
export async function fanOutPosition(db: Db): Promise<FanOutPosition> {
  const row = await db
    .selectFrom('feed_head')
    .where('feed_head.id', '=', 1)
    .innerJoin('feed_cursors', (join) => join.on('feed_cursors.name', '=', CURSOR))
    .select((from) => [
      'feed_head.seq as head',
      'feed_cursors.seq as cursor',
      from.selectFrom('change_log').select(sql<number | null>`min(change_log.seq)`.as('low')).as('oldest'),
    ])
    .executeTakeFirstOrThrow();
  return { ...row, oldest: row.oldest ?? row.head + 1 };
}

/** Reads the cursor and holds it until the unit ends: one unit at a time enqueues, on the whole database. */
export function lockCursor(tx: Tx): Promise<{ readonly seq: number; readonly at: number }> {
  return tx
    .selectFrom('feed_cursors')
    .select(['seq', 'at'])
    .where('name', '=', CURSOR)
    .forUpdate()
    .executeTakeFirstOrThrow();
}

/** Of a cursor that the unit holds. */
export async function moveCursor(tx: Tx, seq: number, at: number): Promise<void> {
  await tx.updateTable('feed_cursors').set({ seq, at }).where('name', '=', CURSOR).execute();
}

/** Up to `seq` nothing was to be enqueued. Never moves it back. */
export async function advanceCursor(tx: Tx, seq: number): Promise<void> {
  await tx
    .updateTable('feed_cursors')
    .set({ seq })
    .where('name', '=', CURSOR)
    .where('seq', '<', seq)
    .execute();
}

/** Takes a cursor that stands after the end of the log back to it. */
export async function rewindCursor(tx: Tx): Promise<void> {
  const head = tx.selectFrom('feed_head').select('seq').where('id', '=', 1).$asScalar().$notNull();
  await tx
    .updateTable('feed_cursors')
    .set({ seq: head })
    .where('name', '=', CURSOR)
    .where('seq', '>', head)
    .execute();
}
