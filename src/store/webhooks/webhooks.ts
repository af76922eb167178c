import type { Tier } from '../../base/limits.ts';
import { firstOwner } from '../accounts.ts';
import { markWork } from '../engine/signals.ts';
import { insertText, listStatement, statement } from '../engine/statement.ts';
import type { Db, Tx } from '../store.ts';

export interface WebhookRow {
  id: string;
  customer_id: string;
  name: string;
  url: string;
  /** JSON array of event names. */
  events: string;
  /** JSON array of namespace names; empty means all of the customer's. */
  namespaces: string;
  enabled: number;
  /** Failed attempts in a row. */
  failure_count: number;
  last_triggered_at: number | null;
  /** Lower-case hex SHA-256 of `secret`. */
  secret_digest: string;
  /** `signing_secret`, encrypted with the server's key (`core/secret-encryption.ts`). */
  signing_secret: Uint8Array;
  /** Changes of the log up to this `seq` are before its life and never delivered: set when made and when enabled again. */
  starts_after: number;
  /** The earliest `next_attempt_at` of its pending deliveries; null when there are none. */
  next_due_at: number | null;
  /** After a failed attempt nothing is sent before this time; 0: at once. */
  rests_until: number;
  /** The lease name of the process that delivers to it; null: no process does. */
  claim: string | null;
  /** The delivery whose attempt began last under the lease; null without a lease. */
  claimed_delivery: string | null;
  /** The end of the lease: from then on any process may claim it. 0 without a lease. */
  claimed_until: number;
  /** Time of its last attempt; 0: never. Of a customer's webhooks the one with the earliest comes first. */
  served_at: number;
  /** Milliseconds that the last attempt took; null: none was made. */
  last_attempt_ms: number | null;
  /** JSON: attempts of the last hour by minute (`control/webhooks/hourly-attempts.ts`). */
  attempt_minutes: string;
  /** From this time on its owner is to be notified that it was disabled; null: no notice is pending. */
  notice_due_at: number | null;
  /** JSON: what its last attempts say of the endpoint (`control/webhooks/health.ts`). */
  health: string;
  /** Who or what disabled it; null: it is enabled, or was disabled before the schema knew. */
  disabled_by: 'failures' | 'tier' | 'request' | 'member_left' | null;
  /** Null: as `disabled_by`. */
  disabled_at: number | null;
  /** Whose session disabled it; null: an API key, or no request did. */
  disabled_user: string | null;
  /** What is left to do in small units: end its waiting deliveries, or delete it. Null: nothing. */
  cleanup: 'end_waiting' | 'delete' | null;
  created_at: number;
  /** The user whose session made it; null: an API key. */
  created_by: string | null;
  /** The user whose session gave it its URL; null: an API key, or it is older than this column. */
  url_by: string | null;
  /** The user who was shown its secrets; null: as `url_by`. */
  secret_by: string | null;
}

/** What a new webhook has in the columns that its deliveries move. */
export const NEVER_SERVED = {
  failure_count: 0,
  last_triggered_at: null,
  next_due_at: null,
  rests_until: 0,
  claim: null,
  claimed_delivery: null,
  claimed_until: 0,
  served_at: 0,
  last_attempt_ms: null,
  attempt_minutes: '[]',
  notice_due_at: null,
  health: '{}',
  disabled_by: null,
  disabled_at: null,
  disabled_user: null,
  cleanup: null,
} as const satisfies Partial<WebhookRow>;

/** Its deletion has not started. Once it has, the owner no longer sees the webhook, though rows of it may be left. */
const EXISTS = "(cleanup is null or cleanup <> 'delete')";

const INSERT = statement<WebhookRow>(
  insertText(
    'webhooks',
    `id, customer_id, name, url, events, namespaces, enabled, failure_count, last_triggered_at, secret_digest,
    signing_secret, starts_after, next_due_at, rests_until, claim, claimed_delivery, claimed_until, served_at,
    last_attempt_ms, attempt_minutes, health, notice_due_at, disabled_by, disabled_at, disabled_user, cleanup,
    created_at, created_by, url_by, secret_by`,
  ),
);

export async function insertWebhook(tx: Tx, webhook: WebhookRow): Promise<void> {
  await INSERT.run(tx, webhook);
}

interface OfCustomer {
  readonly id: string;
  readonly customerId: string;
}

const ONE = `select * from webhooks where id = :id and customer_id = :customerId and ${EXISTS}`;
const FIND = statement<OfCustomer, WebhookRow>(ONE);
const LOCK = statement<OfCustomer, WebhookRow>(ONE, { lock: 'for update' });

export function findWebhook(db: Db, id: string, customerId: string): Promise<WebhookRow | null> {
  return FIND.first(db, { id, customerId });
}

/** Reads a webhook and locks its row until the unit ends: no other unit claims it or settles a delivery meanwhile. */
export function lockWebhook(tx: Tx, id: string, customerId: string): Promise<WebhookRow | null> {
  return LOCK.first(tx, { id, customerId });
}

const LIST = statement<{ customerId: string }, WebhookRow>(
  `select * from webhooks where customer_id = :customerId and ${EXISTS} order by created_at, id`,
);

/** A customer's webhooks, oldest first. */
export function listWebhooks(db: Db, customerId: string): Promise<WebhookRow[]> {
  return LIST.all(db, { customerId });
}

const IDS = statement<{ after: string; limit: number }, { id: string }>(
  'select id from webhooks where id > :after order by id limit :limit',
);

/** Ids of all webhooks after `after`, in order. */
export async function webhookIds(db: Db, after: string, limit: number): Promise<string[]> {
  const rows = await IDS.all(db, { after, limit });
  return rows.map(({ id }) => id);
}

const COUNT = statement<{ customerId: string }, { count: number }>(
  `select count(*) as count from webhooks where customer_id = :customerId and ${EXISTS}`,
);

export async function countWebhooks(db: Db, customerId: string): Promise<number> {
  return (await COUNT.first(db, { customerId }))?.count ?? 0;
}

/** The columns that the customer's requests change. Deliveries change the others. */
export type WebhookUpdate = Partial<
  Pick<
    WebhookRow,
    | 'name'
    | 'url'
    | 'url_by'
    | 'events'
    | 'namespaces'
    | 'enabled'
    | 'failure_count'
    | 'secret_digest'
    | 'signing_secret'
    | 'secret_by'
    | 'starts_after'
    | 'next_due_at'
    | 'rests_until'
    | 'claim'
    | 'notice_due_at'
    | 'health'
    | 'disabled_by'
    | 'disabled_at'
    | 'disabled_user'
    | 'cleanup'
    | 'claimed_delivery'
  >
>;

const UPDATE = statement<WebhookRow>(
  `update webhooks set name = :name, url = :url, events = :events, namespaces = :namespaces, enabled = :enabled,
    failure_count = :failure_count, secret_digest = :secret_digest, signing_secret = :signing_secret,
    starts_after = :starts_after, next_due_at = :next_due_at, rests_until = :rests_until, claim = :claim,
    notice_due_at = :notice_due_at, health = :health, disabled_by = :disabled_by, disabled_at = :disabled_at,
    disabled_user = :disabled_user, cleanup = :cleanup, claimed_delivery = :claimed_delivery, url_by = :url_by,
    secret_by = :secret_by
  where id = :id`,
);

/**
 * Wakes the dispatchers when the webhook then has something due.
 * @param webhook as the unit has locked it
 * @returns the webhook after the change
 */
export async function updateWebhook(tx: Tx, webhook: WebhookRow, change: WebhookUpdate): Promise<WebhookRow> {
  if (change.next_due_at != null) markWork(tx, 'deliveries');
  const changed = { ...webhook, ...change };
  await UPDATE.run(tx, changed);
  return changed;
}

const DELETE = statement<{ id: string }>('delete from webhooks where id = :id');

export async function deleteWebhookRow(tx: Tx, id: string): Promise<void> {
  await DELETE.run(tx, { id });
}

export type CleanupTask = NonNullable<WebhookRow['cleanup']>;

/** What ends every delivery of a webhook at once: nothing is enqueued, claimed or settled for it any more. */
const CLOSED = 'enabled = 0, next_due_at = null, claim = null, claimed_delivery = null, notice_due_at = null';

const CLOSE = statement<{ id: string }>(`update webhooks set ${CLOSED}, cleanup = 'delete' where id = :id`);

/** Starts the deletion of a webhook that the unit has locked. Its owner no longer sees it; later units delete its rows. */
export async function closeWebhook(tx: Tx, id: string): Promise<void> {
  await CLOSE.run(tx, { id });
}

const CLOSE_ALL = statement<{ customerId: string }>(
  `update webhooks set ${CLOSED}, cleanup = 'delete' where customer_id = :customerId`,
);

/** Starts the deletion of every webhook of a customer whose row the unit holds. */
export async function closeWebhooks(tx: Tx, customerId: string): Promise<void> {
  await CLOSE_ALL.run(tx, { customerId });
}

const PAUSE_OF = statement<{ customerId: string; userId: string; now: number }>(
  `update webhooks set ${CLOSED}, disabled_by = 'member_left', disabled_at = :now, cleanup = 'end_waiting'
  where customer_id = :customerId and (created_by = :userId or url_by = :userId or secret_by = :userId)
    and enabled = 1 and ${EXISTS}`,
);

/** Disables the webhooks of a customer whose row the unit holds that a user made, or gave their URL, or whose secrets the user was shown. Later units end their waiting deliveries. */
export async function pauseWebhooksOf(
  tx: Tx,
  customerId: string,
  userId: string,
  now: number,
): Promise<void> {
  await PAUSE_OF.run(tx, { customerId, userId, now });
}

const LOCK_ALL = statement<{ customerId: string }, Pick<WebhookRow, 'id' | 'enabled'>>(
  `select id, enabled from webhooks where customer_id = :customerId and ${EXISTS} order by created_at, id`,
  { lock: 'for update' },
);
const PAUSE = listStatement<{ ids: readonly string[]; now: number }>(
  `update webhooks set ${CLOSED}, served_at = :now, disabled_by = 'tier', disabled_at = :now, cleanup = 'end_waiting'
  where id in (:ids)`,
  'text',
);
const NOTIFY = statement<{ id: string; now: number }>(
  'update webhooks set notice_due_at = :now where id = :id',
);

/**
 * Pauses the enabled webhooks of a customer beyond the oldest `quota`; the newest of them carries the notice for the owner.
 * The unit must hold the customer's row.
 */
export async function pauseWebhooksAbove(
  tx: Tx,
  customerId: string,
  quota: number,
  now: number,
): Promise<void> {
  const rows = await LOCK_ALL.all(tx, { customerId });
  const paused = rows.slice(quota).filter(({ enabled }) => enabled === 1);
  const newest = paused.at(-1);
  if (newest === undefined) return;
  await PAUSE.run(tx, { ids: paused.map(({ id }) => id), now });
  await NOTIFY.run(tx, { id: newest.id, now });
}

type ToClean = Pick<WebhookRow, 'id'> & { readonly cleanup: CleanupTask };

const TO_CLEAN = statement<{ after: string; limit: number }, ToClean>(
  'select id, cleanup from webhooks where cleanup is not null and id > :after order by id limit :limit',
);

/** Webhooks after `after` that have something left to do, in order of their ids. */
export async function webhooksToClean(db: Db, after: string, limit: number): Promise<ToClean[]> {
  return TO_CLEAN.all(db, { after, limit });
}

const HOLD_FOR = statement<{ id: string; task: CleanupTask }, { id: string }>(
  'select id from webhooks where id = :id and cleanup = :task',
  { lock: 'for update' },
);

/** Holds a webhook until the unit ends. @returns false when this task is not left to do */
export async function holdForCleanup(tx: Tx, id: string, task: CleanupTask): Promise<boolean> {
  return (await HOLD_FOR.first(tx, { id, task })) !== null;
}

const SET_CLEANUP = statement<{ id: string; cleanup: CleanupTask | null }>(
  'update webhooks set cleanup = :cleanup where id = :id',
);

export async function setCleanup(tx: Tx, id: string, cleanup: CleanupTask | null): Promise<void> {
  await SET_CLEANUP.run(tx, { id, cleanup });
}

const HEAD = statement<object, { seq: number }>('select seq from feed_head where id = 1');

/** The `seq` of the last committed change. A new webhook gets events of later changes only. */
export async function feedHead(tx: Tx): Promise<number> {
  const head = await HEAD.first(tx, {});
  if (head === null) throw new Error('the database has lost its sequence number (table feed_head)');
  return head.seq;
}

/** A webhook that the server disabled and whose owner has not been notified. */
export interface DueNotice {
  readonly webhookId: string;
  readonly name: string;
  /** Of the customer's first owner. */
  readonly email: string;
  readonly failures: number;
  readonly tier: Tier;
  /** Webhooks of the customer that were paused because the tier allows fewer; 0: it was disabled for its failures. */
  readonly paused: number;
  /** Milliseconds since the epoch. */
  readonly disabledAt: number;
}

const NEXT_NOTICE = statement<object, { notice_due_at: number }>(
  'select notice_due_at from webhooks where notice_due_at is not null order by notice_due_at limit 1',
);

/** When the next notice falls due, the past included; null when there is none. */
export async function nextNoticeAt(db: Db): Promise<number | null> {
  return (await NEXT_NOTICE.first(db, {}))?.notice_due_at ?? null;
}

interface TakenRow {
  readonly id: string;
  readonly name: string;
  readonly customer_id: string;
  readonly tier: Tier;
  readonly failure_count: number;
  readonly served_at: number;
  readonly disabled_by: WebhookRow['disabled_by'];
  readonly email: string;
}

const NEXT_DUE = statement<{ now: number }, TakenRow>(
  `select w.id, w.name, w.customer_id, c.tier, w.failure_count, w.served_at, w.disabled_by,
    ${firstOwner('w.customer_id')} as email
  from webhooks as w join customers as c on c.id = w.customer_id
  where w.notice_due_at <= :now order by w.notice_due_at limit 1`,
  { lock: 'for no key update of w skip locked' },
);
const POSTPONE = statement<{ id: string; until: number }>(
  'update webhooks set notice_due_at = :until where id = :id',
);
const COUNT_PAUSED = statement<{ customerId: string }, { count: number }>(
  "select count(*) as count from webhooks where customer_id = :customerId and enabled = 0 and disabled_by = 'tier'",
);

/**
 * Takes a due notice and postpones it to `until`, so that no other process sends it before. If this process dies, the notice is sent then.
 */
export async function takeNotice(tx: Tx, now: number, until: number): Promise<DueNotice | null> {
  const row = await NEXT_DUE.first(tx, { now });
  if (row === null) return null;
  const { id: webhookId, name, email, tier, failure_count: failures, customer_id: customerId } = row;
  await POSTPONE.run(tx, { id: webhookId, until });
  const paused = row.disabled_by === 'tier' ? await COUNT_PAUSED.first(tx, { customerId }) : null;
  return { webhookId, name, email, failures, tier, paused: paused?.count ?? 0, disabledAt: row.served_at };
}

const MOVE = statement<{ id: string; taken: number; to: number | null }>(
  'update webhooks set notice_due_at = :to where id = :id and notice_due_at = :taken',
);

/**
 * Moves a notice that was taken until `taken` to another time, or to null, which ends it. Does nothing when the webhook
 * was enabled, or disabled again, since then.
 */
export async function moveNotice(tx: Tx, webhookId: string, taken: number, to: number | null): Promise<void> {
  await MOVE.run(tx, { id: webhookId, taken, to });
}
