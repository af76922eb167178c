import type { DeliveryError, DeliveryEvent, DeliveryStatus, WebhookEvent } from '../../protocol/webhooks.ts';
import { insertText, listStatement, statement } from '../engine/statement.ts';
import type { Db, Tx } from '../store.ts';

export interface WebhookDeliveriesTable {
  id: string;
  webhook_id: string;
  event: DeliveryEvent;
  /** The customer's number of the event; null for tests. */
  seq: number | null;
  status: DeliveryStatus;
  response_code: number | null;
  error: DeliveryError | null;
  /** Attempts started: counted when a process claims the delivery. */
  attempts: number;
  duration_ms: number | null;
  created_at: number;
  last_attempt_at: number | null;
  /** Null once it has ended. */
  next_attempt_at: number | null;
  /** What is signed and sent, frozen when it was enqueued; null once the delivery has ended. */
  body: Uint8Array | null;
}

/** A delivery without its body, which only an attempt needs. */
export type DeliveryRow = Omit<WebhookDeliveriesTable, 'body'>;

// The status `pending` is written out, not bound: only then the planner uses the partial index of waiting deliveries.

const COLUMNS = `id, webhook_id, event, seq, status, response_code, error, attempts, duration_ms, created_at,
  last_attempt_at, next_attempt_at`;

/** Of a delivery that the webhook no longer covers. */
const NOT_SENT = "status = 'failed', error = 'webhook_disabled', next_attempt_at = null, body = null";

const INSERT = statement<WebhookDeliveriesTable>(insertText('webhook_deliveries', `${COLUMNS}, body`));

export async function insertDelivery(tx: Tx, delivery: WebhookDeliveriesTable): Promise<void> {
  await INSERT.run(tx, delivery);
}

const LOCK = statement<{ id: string; webhookId: string }, DeliveryRow>(
  `select ${COLUMNS} from webhook_deliveries where id = :id and webhook_id = :webhookId`,
  { lock: 'for update' },
);

/** Reads a delivery of a webhook and holds its row until the unit ends. */
export function lockDelivery(tx: Tx, id: string, webhookId: string): Promise<DeliveryRow | null> {
  return LOCK.first(tx, { id, webhookId });
}

/** The position of a delivery in the history of its webhook. */
export interface DeliveryPosition {
  /** Milliseconds since the epoch. */
  readonly createdAt: number;
  readonly id: string;
}

type Page = DeliveryPosition & {
  readonly webhookId: string;
  readonly status: string;
  readonly limit: number;
};

const page = (status: string) =>
  statement<Page, DeliveryRow>(
    `select ${COLUMNS} from webhook_deliveries where webhook_id = :webhookId ${status}
      and (created_at, id) < (:createdAt, :id)
    order by created_at desc, id desc limit :limit`,
  );
const PAGE = page('');
const PAGE_WAITING = page("and status = 'pending'");
const PAGE_OF_STATUS = page('and status = :status');

const NEWEST: DeliveryPosition = { createdAt: Number.MAX_SAFE_INTEGER, id: '' };

/** A page of a webhook's deliveries after `after`, newest first. @param status null: of every status */
export function listDeliveries(
  db: Db,
  webhookId: string,
  status: DeliveryStatus | null,
  after: DeliveryPosition | null,
  limit: number,
): Promise<DeliveryRow[]> {
  const text = status === null ? PAGE : status === 'pending' ? PAGE_WAITING : PAGE_OF_STATUS;
  return text.all(db, { ...(after ?? NEWEST), webhookId, status: status ?? '', limit });
}

/** The position of a delivery in the order of `listByAttempt`. */
export interface AttemptPosition extends DeliveryPosition {
  /** Its first attempt was not made, and is due at `createdAt`. */
  readonly isUntried: boolean;
}

const TRIED = page("and not (status = 'pending' and attempts = 0)");
const UNTRIED = statement<Page, DeliveryRow>(
  `select ${COLUMNS} from webhook_deliveries
  where webhook_id = :webhookId and status = 'pending' and attempts = 0
    and (next_attempt_at, id) > (:createdAt, :id)
  order by next_attempt_at, id limit :limit`,
);

/**
 * A page of a webhook's deliveries after `after`: first those that were attempted or have ended, the newest first; then those that wait for
 * their first attempt, the next one first. `LIMITS.webhookPending` bounds how many of these there are.
 */
export async function listByAttempt(
  db: Db,
  webhookId: string,
  after: AttemptPosition | null,
  limit: number,
): Promise<DeliveryRow[]> {
  const filter = { webhookId, status: '' };
  const tried =
    after?.isUntried === true ? [] : await TRIED.all(db, { ...filter, ...(after ?? NEWEST), limit });
  if (tried.length === limit) return tried;
  const from = after?.isUntried === true ? after : { createdAt: 0, id: '' };
  const untried = await UNTRIED.all(db, { ...filter, ...from, limit: limit - tried.length });
  return [...tried, ...untried];
}

const END_WAITING = listStatement<{ ids: readonly WebhookEvent[]; webhookId: string; limit: number }>(
  `update webhook_deliveries set ${NOT_SENT} where id in (
    select id from webhook_deliveries
    where webhook_id = :webhookId and status = 'pending' and event not in (:ids) limit :limit)`,
  'text',
);

/**
 * Ends up to `limit` waiting deliveries of a webhook that will not be sent any more, and erases their bodies.
 * @param kept events whose deliveries go on waiting
 * @returns how many were ended
 */
export function endWaiting(
  tx: Tx,
  webhookId: string,
  kept: readonly WebhookEvent[],
  limit: number,
): Promise<number> {
  return END_WAITING.run(tx, { webhookId, ids: kept, limit });
}

const BODIES = statement<
  { webhookId: string; after: string; limit: number },
  { id: string; body: Uint8Array | null }
>(
  `select id, body from webhook_deliveries
  where webhook_id = :webhookId and status = 'pending' and id > :after order by id limit :limit`,
);

/** The bodies of up to `limit` waiting deliveries of a webhook whose ids follow `after`, in order of their ids. */
export async function waitingBodies(
  tx: Tx,
  webhookId: string,
  after: string,
  limit: number,
): Promise<{ readonly id: string; readonly body: Uint8Array }[]> {
  const rows = await BODIES.all(tx, { webhookId, after, limit });
  // A waiting delivery has a body; the type knows only that ended ones have none.
  return rows.map(({ id, body }) => ({ id, body: body ?? new Uint8Array() }));
}

const END = listStatement<{ ids: readonly string[] }>(
  `update webhook_deliveries set ${NOT_SENT} where id in (:ids) and status = 'pending'`,
  'text',
);

/** Ends waiting deliveries that will not be sent any more, and erases their bodies. */
export async function endDeliveries(tx: Tx, ids: readonly string[]): Promise<void> {
  if (ids.length > 0) await END.run(tx, { ids });
}

const EARLIEST_DUE = statement<{ webhookId: string }, { at: number | null }>(
  `select min(next_attempt_at) as at from webhook_deliveries
  where webhook_id = :webhookId and status = 'pending'`,
);

/** When the first waiting delivery of a webhook is due, in milliseconds since the epoch; null when none waits. */
export async function earliestDue(tx: Tx, webhookId: string): Promise<number | null> {
  return (await EARLIEST_DUE.first(tx, { webhookId }))?.at ?? null;
}

const COUNT_DUE = statement<{ webhookId: string; besides: string; now: number }, { count: number }>(
  `select count(*) as count from webhook_deliveries
  where webhook_id = :webhookId and status = 'pending' and next_attempt_at <= :now and id <> :besides`,
);

/** How many deliveries of a webhook are due at `now`, one under way included, besides one. */
export async function countDue(tx: Tx, webhookId: string, besides: string, now: number): Promise<number> {
  return Number((await COUNT_DUE.first(tx, { webhookId, besides, now }))?.count ?? 0);
}

const MAKE_DUE = statement<{ id: string; now: number }, DeliveryRow>(
  `update webhook_deliveries
  set next_attempt_at = case when next_attempt_at <= :now then next_attempt_at else :now end
  where id = :id returning ${COLUMNS}`,
);

/** Makes a waiting delivery that the unit has locked due at `now`, unless it is due already. @returns the delivery after it */
export async function makeDue(tx: Tx, id: string, now: number): Promise<DeliveryRow> {
  const row = await MAKE_DUE.first(tx, { id, now });
  if (row === null) throw new Error('a locked delivery is gone');
  return row;
}

const DELETE_SOME = statement<{ webhookId: string; limit: number }>(
  `delete from webhook_deliveries where id in (
    select id from webhook_deliveries where webhook_id = :webhookId limit :limit)`,
);

/** Deletes up to `limit` deliveries of a webhook. @returns how many there were */
export function deleteSomeDeliveries(tx: Tx, webhookId: string, limit: number): Promise<number> {
  return DELETE_SOME.run(tx, { webhookId, limit });
}

const DELETE_OLD = statement<{ webhookId: string; before: number; limit: number }>(
  `delete from webhook_deliveries where id in (
    select id from webhook_deliveries
    where webhook_id = :webhookId and created_at < :before and status <> 'pending' limit :limit)`,
);

/** Deletes up to `limit` deliveries of a webhook that have ended and were made before `before`. @returns how many there were */
export function deleteOldDeliveries(
  tx: Tx,
  webhookId: string,
  before: number,
  limit: number,
): Promise<number> {
  return DELETE_OLD.run(tx, { webhookId, before, limit });
}
