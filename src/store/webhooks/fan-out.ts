import { nextTurn } from '../../base/lifecycle/timers.ts';
import type { Tier } from '../../base/limits.ts';
import type { Change } from '../../protocol/change.ts';
import { decodeChange } from '../../protocol/changes/change-codec.ts';
import { WEBHOOK_EVENTS } from '../../protocol/webhooks.ts';
import { markWork } from '../engine/signals.ts';
import { listStatement, rowInsert, statement } from '../engine/statement.ts';
import type { ChangeLogTable } from '../log/change-log.ts';
import type { Db, Tx } from '../store.ts';
import type { WebhookDeliveriesTable } from './deliveries.ts';

/**
 * How far the log was worked through, where that is kept with the data: `webhooks`, the fan-out, but for customers who are behind;
 * `erasure`, of payloads.
 */
export interface FeedCursorsTable {
  name: string;
  seq: number;
  /** Latest time given to what was enqueued: it never goes back, so that order by time is order by `seq`. */
  at: number;
}

/** The last number given to an event of a customer. */
export interface EventCountersTable {
  customer_id: string;
  seq: number;
  /** Of the log: the customer was told up to here, and waits for a turn to be told up to the fan-out's cursor. Null: was told up to the cursor. */
  behind: number | null;
}

/** Rows in one turn of the event loop. */
const CHUNK = 100;

interface LastChange {
  /** Null: there is none. */
  readonly last: number | null;
  /** Of the log. */
  readonly epoch: string;
}

const LAST_CHANGE = statement<{ seq: number; until: number }, LastChange>(
  `select max(seq) as last, (select value from service_facts where name = 'epoch') as epoch
  from change_log where seq > :seq and seq <= :until`,
);

/** The last change after `seq`, of `size` at most. */
export async function lastChange(db: Db, seq: number, size: number): Promise<LastChange> {
  return (await LAST_CHANGE.all(db, { seq, until: seq + size }))[0]!;
}

const EVENT_TYPES = Object.keys(WEBHOOK_EVENTS)
  .map((type) => `'${type}'`)
  .join(', ');

/** Without any webhook the changes are not looked at. */
const CUSTOMERS_CONCERNED = statement<
  { after: number; until: number },
  { readonly customer_id: string; readonly count: number }
>(
  `select customer_id, count(*) as count from webhooks
  where exists (select 1 from webhooks where enabled = 1) and enabled = 1 and customer_id in (
    select owner from change_log
    where seq > :after and seq <= :until and cause <> 'expiry' and type in (${EVENT_TYPES}) and owner is not null)
  group by customer_id`,
);

/**
 * The customers who have to be told of changes after one `seq` up to another, as far as that can be seen without reading
 * them out: most changes concern no webhook at all, and must not cost much.
 * @returns how many enabled webhooks each of them has
 */
export async function customersConcerned(db: Db, after: number, until: number): Promise<Map<string, number>> {
  const rows = await CUSTOMERS_CONCERNED.all(db, { after, until });
  return new Map(rows.map((row) => [row.customer_id, row.count]));
}

interface OwnersSpan {
  readonly ids: readonly string[];
  readonly after: number;
  readonly until: number;
  readonly limit: number;
}

const CHANGES_OF = listStatement<OwnersSpan, ChangeLogTable>(
  `select seq, at, owner, cause, type, namespace, key, body, data from change_log
  where seq > :after and seq <= :until and owner in (:ids) order by seq limit :limit`,
  'text',
);

/** The changes of these owners after one `seq` up to another, in order, whole. */
export async function changesOf(
  tx: Tx,
  owners: readonly string[],
  after: number,
  until: number,
  limit: number,
): Promise<Change[]> {
  const rows = await CHANGES_OF.all(tx, { ids: owners, after, until, limit });
  return rows.map(decodeChange);
}

/** An enabled webhook, as far as it matters what is enqueued for it. */
export interface TargetRow {
  readonly id: string;
  readonly customer_id: string;
  /** Of its owner. */
  readonly tier: Tier;
  readonly events: string;
  readonly namespaces: string;
  readonly starts_after: number;
  readonly attempt_minutes: string;
}

const HOLD_ENABLED = listStatement<{ ids: readonly string[] }, TargetRow>(
  `select w.id, w.customer_id, c.tier, w.events, w.namespaces, w.starts_after, w.attempt_minutes
  from webhooks as w join customers as c on c.id = w.customer_id
  where w.customer_id in (:ids) and w.enabled = 1 order by w.id`,
  'text',
  { lock: 'for no key update of w' },
);

/**
 * The enabled webhooks of these customers, held until the unit ends: none of them is disabled or deleted, and nothing of
 * theirs is sent off or settled, while the unit counts what waits.
 */
export async function holdEnabled(tx: Tx, owners: readonly string[]): Promise<TargetRow[]> {
  return HOLD_ENABLED.all(tx, { ids: owners });
}

const COUNT_WAITING = listStatement<{ ids: readonly string[] }, { webhook_id: string; count: number }>(
  `select webhook_id, count(*) as count from webhook_deliveries
  where webhook_id in (:ids) and status = 'pending' group by webhook_id`,
  'text',
);

/** How many deliveries of each webhook wait; no entry for none. */
export async function countWaiting(tx: Tx, ids: readonly string[]): Promise<Map<string, number>> {
  const rows = await COUNT_WAITING.all(tx, { ids });
  return new Map(rows.map((row) => [row.webhook_id, row.count]));
}

interface Dropped {
  readonly count: number;
  readonly oldest: number | null;
}

const DROPPED_SINCE = statement<{ id: string; since: number; limit: number }, Dropped>(
  `select count(*) as count, min(created_at) as oldest from (
    select created_at from webhook_deliveries
    where webhook_id = :id and created_at > :since and status = 'dropped' order by created_at desc limit :limit) as newest`,
);

/** The newest dropped deliveries of a webhook made after `since`, up to `limit`: how many, and when the oldest was made. */
export async function droppedSince(tx: Tx, id: string, since: number, limit: number): Promise<Dropped> {
  return (await DROPPED_SINCE.first(tx, { id, since, limit })) ?? { count: 0, oldest: null };
}

const INSERT_DELIVERIES = rowInsert('webhook_deliveries', {
  id: 'text',
  webhook_id: 'text',
  event: 'text',
  seq: 'bigint',
  status: 'text',
  body: 'bytea',
  response_code: 'bigint',
  error: 'text',
  attempts: 'bigint',
  duration_ms: 'bigint',
  created_at: 'bigint',
  last_attempt_at: 'bigint',
  next_attempt_at: 'bigint',
});

export async function insertDeliveries(tx: Tx, rows: readonly WebhookDeliveriesTable[]): Promise<void> {
  for (let start = 0; start < rows.length; start += CHUNK) {
    // The embedded engine's statements are synchronous: without this, nothing else would run until the last of them.
    if (start > 0) await nextTurn();
    await INSERT_DELIVERIES(tx, rows.slice(start, start + CHUNK).map(valuesOf));
  }
}

function valuesOf(row: WebhookDeliveriesTable) {
  return [
    row.id,
    row.webhook_id,
    row.event,
    row.seq,
    row.status,
    row.body,
    row.response_code,
    row.error,
    row.attempts,
    row.duration_ms,
    row.created_at,
    row.last_attempt_at,
    row.next_attempt_at,
  ];
}

const HASTEN_FIRST = listStatement<{ ids: readonly string[]; at: number }>(
  `update webhook_deliveries set next_attempt_at = :at
  where webhook_id in (:ids) and status = 'pending' and attempts = 0 and next_attempt_at > :at`,
  'text',
);

/** No first attempt of these webhooks, which the unit holds, is due after `at`. Touches `LIMITS.webhookPending` rows of each at most. */
export async function hastenFirst(tx: Tx, ids: readonly string[], at: number): Promise<void> {
  await HASTEN_FIRST.run(tx, { ids, at });
}

const SET_DUE_BY = listStatement<{ ids: readonly string[]; at: number }>(
  'update webhooks set next_due_at = :at where id in (:ids) and (next_due_at is null or next_due_at > :at)',
  'text',
);

/** Something of these webhooks, which the unit holds, is due at `at`. Wakes the dispatchers. */
export async function setDueBy(tx: Tx, ids: readonly string[], at: number): Promise<void> {
  await SET_DUE_BY.run(tx, { ids, at });
  markWork(tx, 'deliveries');
}

// A webhook has few first attempts that wait: the index `webhook_deliveries_due` has them together.
const HOLD_AHEAD = statement<{ at: number; limit: number }, { id: string }>(
  `select w.id from webhooks as w
  where w.enabled = 1 and w.next_due_at is not null and exists (
    select 1 from webhook_deliveries as d
    where d.webhook_id = w.id and d.status = 'pending' and d.attempts = 0 and d.next_attempt_at > :at)
  order by w.id limit :limit`,
  { lock: 'for no key update of w' },
);

/** No first attempt of any webhook is due after `at`. @returns how many webhooks had one, `limit` at most */
export async function hastenAll(tx: Tx, at: number, limit: number): Promise<number> {
  const ids = (await HOLD_AHEAD.all(tx, { at, limit })).map(({ id }) => id);
  if (ids.length === 0) return 0;
  await hastenFirst(tx, ids, at);
  await setDueBy(tx, ids, at);
  return ids.length;
}

/** Where the fan-out stands, and both ends of the log. */
export interface FanOutPosition {
  readonly cursor: number;
  /** Latest time given to what was enqueued. */
  readonly at: number;
  /** The first change that there is; the next one there will be, when there is none. */
  readonly oldest: number;
  /** The last `seq` given out. */
  readonly head: number;
  readonly epoch: string;
}

// The fan-out's row of `feed_cursors` is `webhooks`: the `seq` up to which it has read the log.

const POSITION = statement<object, Omit<FanOutPosition, 'oldest'> & { readonly oldest: number | null }>(
  `select h.seq as head, c.seq as cursor, c.at as at, (select min(seq) from change_log) as oldest,
    (select value from service_facts where name = 'epoch') as epoch
  from feed_head as h join feed_cursors as c on c.name = 'webhooks' where h.id = 1`,
);

/** All of one moment. */
export async function fanOutPosition(db: Db): Promise<FanOutPosition> {
  const row = cursorOf(await POSITION.all(db, {}));
  return { ...row, oldest: row.oldest ?? row.head + 1 };
}

export interface HeldCursor {
  readonly seq: number;
  readonly at: number;
  /** Of the log. */
  readonly epoch: string;
}

const LOCK_CURSOR = statement<object, HeldCursor>(
  `select seq, at, (select value from service_facts where name = 'epoch') as epoch
  from feed_cursors where name = 'webhooks'`,
  { lock: 'for update' },
);

/** Reads the cursor and holds it until the unit ends: one unit at a time enqueues, on the whole database. */
export async function lockCursor(tx: Tx): Promise<HeldCursor> {
  return cursorOf(await LOCK_CURSOR.all(tx, {}));
}

function cursorOf<R>([row]: readonly R[]): R {
  if (row === undefined) throw new Error("the database has lost the fan-out's cursor (table feed_cursors)");
  return row;
}

const MOVE = statement<{ seq: number; at: number }>(
  "update feed_cursors set seq = :seq, at = :at where name = 'webhooks'",
);

/** Of a cursor that the unit holds. */
export async function moveCursor(tx: Tx, seq: number, at: number): Promise<void> {
  await MOVE.run(tx, { seq, at });
}

const ADVANCE = statement<{ seq: number }>(
  "update feed_cursors set seq = :seq where name = 'webhooks' and seq < :seq",
);

/** Up to `seq` nothing was to be enqueued. Never moves it back. */
export async function advanceCursor(tx: Tx, seq: number): Promise<void> {
  await ADVANCE.run(tx, { seq });
}

const REWIND = statement<object>(
  `update feed_cursors set seq = (select seq from feed_head where id = 1)
  where name = 'webhooks' and seq > (select seq from feed_head where id = 1)`,
);

const REWIND_BEHIND = statement<object>(
  'update event_counters set behind = null where behind >= (select seq from feed_head where id = 1)',
);

/** Takes a cursor that stands after the end of the log back to it. */
export async function rewindCursor(tx: Tx): Promise<void> {
  await REWIND.run(tx, {});
  await REWIND_BEHIND.run(tx, {});
}

const NEXT_BEHIND = statement<{ last: string }, { customer_id: string }>(
  `select customer_id from event_counters where behind is not null
  order by case when customer_id > :last then 0 else 1 end, customer_id limit 1`,
);

/** Whose turn it is after the customer `last`, of those who are behind; null: nobody is. */
export async function nextBehind(db: Db, last: string): Promise<string | null> {
  return (await NEXT_BEHIND.first(db, { last }))?.customer_id ?? null;
}

const SET_BEHIND = statement<{ owner: string; behind: number | null }>(
  'update event_counters set behind = :behind where customer_id = :owner',
);

/** In a unit that holds the cursor. @param behind as in `EventCountersTable` */
export async function setBehind(tx: Tx, owner: string, behind: number | null): Promise<void> {
  await SET_BEHIND.run(tx, { owner, behind });
}

interface Owners {
  readonly ids: readonly string[];
}

const ADD_MISSING = listStatement<Owners>(
  `insert into event_counters (customer_id, seq)
  select id, coalesce((select cast(value as bigint) from service_facts where name = 'events_from'), 0)
  from customers where id in (:ids) order by id
  on conflict do nothing`,
  'text',
);

/**
 * The counters of these customers. The caller must have locked the cursor of the fan-out.
 * @returns none for a customer who was deleted
 */
export async function eventCounters(
  tx: Tx,
  owners: readonly string[],
): Promise<Map<string, EventCountersTable>> {
  const known = await knownCounters(tx, owners);
  const missing = owners.filter((owner) => !known.has(owner));
  if (missing.length === 0) return known;
  await ADD_MISSING.run(tx, { ids: missing });
  return knownCounters(tx, owners);
}

const KNOWN = listStatement<Owners, EventCountersTable>(
  'select customer_id, seq, behind from event_counters where customer_id in (:ids)',
  'text',
);

async function knownCounters(tx: Tx, owners: readonly string[]): Promise<Map<string, EventCountersTable>> {
  const rows = await KNOWN.all(tx, { ids: owners });
  return new Map(rows.map((row) => [row.customer_id, row]));
}

const SAVE = statement<{ owner: string; seq: number }>(
  'update event_counters set seq = :seq where customer_id = :owner',
);

export async function saveEventNumbers(tx: Tx, numbers: ReadonlyMap<string, number>): Promise<void> {
  for (const [owner, seq] of numbers) await SAVE.run(tx, { owner, seq });
}

interface Owner {
  readonly id: string;
  readonly tier: Tier;
}

const FIND = statement<{ namespace: string }, Owner>(
  `select c.id, c.tier from namespaces as n join customers as c on c.id = n.customer_id
  where n.name = :namespace and n.closing = 0`,
);

/** The customer who owns the namespace of this name; null when there is no such namespace. */
export function findOwner(db: Db, namespace: string): Promise<Owner | null> {
  return FIND.first(db, { namespace });
}
