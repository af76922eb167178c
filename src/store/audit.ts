import type { AuditAction, AuditActorKind, AuditObjectKind, AuditOutcome } from '../protocol/audit.ts';
import { rowInsert, statement } from './engine/statement.ts';
import type { Db, LastValue, Tx } from './store.ts';

/** A row of the audit log. No column can hold a payload, a token, an address or a user agent. Mail addresses are read where they belong. */
export interface AuditRow {
  /** Whose log it is in. */
  customer_id: string;
  /** Milliseconds since the epoch. */
  at: number;
  id: string;
  request_id: string | null;
  actor_kind: AuditActorKind;
  actor_id: string | null;
  /** Of an API key. That of a user is read from `users`, so that it is gone with the user. */
  actor_name: string | null;
  action: AuditAction;
  outcome: AuditOutcome;
  object_kind: AuditObjectKind | null;
  object_id: string | null;
  /** Of a member it is read from `users`. */
  object_name: string | null;
  namespace: string | null;
  /** Also 1 or 0 of what the operator switched on or off. */
  count: number | null;
  /** `updated_at` of a record, of which its ETag is made. */
  tag_before: number | null;
  tag_after: number | null;
  /** The last change of the unit in the log. */
  seq: number | null;
}

export type NewAuditRow = Omit<AuditRow, 'id'>;

const COLUMN_TYPES = {
  customer_id: 'text',
  at: 'bigint',
  id: 'text',
  request_id: 'text',
  actor_kind: 'text',
  actor_id: 'text',
  actor_name: 'text',
  action: 'text',
  outcome: 'text',
  object_kind: 'text',
  object_id: 'text',
  object_name: 'text',
  namespace: 'text',
  count: 'bigint',
  tag_before: 'bigint',
  tag_after: 'bigint',
  seq: 'bigint',
} as const;

const COLUMNS = Object.keys(COLUMN_TYPES).join(', ');

const ADD = rowInsert('audit_log', COLUMN_TYPES);

/** The name of a user whose account was deleted. */
export const DELETED_USER = 'deleted user';

/** In the order of the columns. */
function valuesOf({ rowId }: Tx, row: NewAuditRow): LastValue[] {
  return [
    row.customer_id,
    row.at,
    rowId(row.at),
    row.request_id,
    row.actor_kind,
    row.actor_id,
    row.actor_name,
    row.action,
    row.outcome,
    row.object_kind,
    row.object_id,
    row.object_name,
    row.namespace,
    row.count,
    row.tag_before,
    row.tag_after,
    row.seq,
  ];
}

/** Adds a row in the unit of the action: neither is there without the other. The unit itself does not see it. */
export function addAuditRow(tx: Tx, row: NewAuditRow): Promise<void> {
  return tx.insertLast(ADD, valuesOf(tx, row));
}

/** Adds any number of rows, at once. */
export function addAuditRows(tx: Tx, rows: readonly NewAuditRow[]): Promise<void> {
  return ADD(
    tx,
    rows.map((row) => valuesOf(tx, row)),
  );
}

const HOUR = 3_600_000;

interface OfHour {
  readonly customerId: string;
  readonly from: number;
  readonly until: number;
  readonly outcome: AuditOutcome;
}

/** Of one kind: refusals, or sign-ins that failed, whose outcome is `done`. Both are in a partial index. */
const OF_HOUR = `from audit_log where customer_id = :customerId and at >= :from and at < :until and outcome = :outcome
  and (outcome = 'refused' or action = 'sign_in.failed')`;

const COUNT_OF_HOUR = statement<OfHour, { count: number }>(
  `select count(*) as count ${OF_HOUR} and count is null`,
);
const OTHERS_OF_HOUR = statement<OfHour, AuditPosition>(
  `select at, id ${OF_HOUR} and count is not null order by at, id limit 1`,
);
const COUNT_ON = statement<{ customerId: string; at: number; id: string; more: number }>(
  'update audit_log set count = count + :more where customer_id = :customerId and at = :at and id = :id',
);

/**
 * Adds rows of one kind of a customer whose row the unit holds, up to `most` in their hour. What is beyond them is one row of the server's
 * with a count.
 * @param more beyond `rows`
 */
export async function addRefusals(
  tx: Tx,
  rows: readonly NewAuditRow[],
  more: number,
  most: number,
): Promise<void> {
  const [first] = rows;
  if (first === undefined) return;
  const { customer_id: customerId, outcome } = first;
  const from = first.at - (first.at % HOUR);
  const hour = { customerId, outcome, from, until: from + HOUR };
  const room = Math.max(0, most - ((await COUNT_OF_HOUR.first(tx, hour))?.count ?? 0));
  await addAuditRows(tx, rows.slice(0, room));
  const others = rows.slice(room);
  const count = others.length + more;
  if (count === 0) return;
  const known = await OTHERS_OF_HOUR.first(tx, hour);
  if (known !== null) {
    await COUNT_ON.run(tx, { customerId, ...known, more: count });
    return;
  }
  const nobody = { request_id: null, actor_kind: 'system', actor_id: null, actor_name: null } as const;
  await addAuditRows(tx, [{ ...(others[0] ?? first), ...nobody, object_id: null, count }]);
}

const DELETE_SOME = statement<{ customerId: string; limit: number }, { id: string }>(
  `delete from audit_log where customer_id = :customerId and (at, id) in (
    select at, id from audit_log where customer_id = :customerId order by at, id limit :limit) returning id`,
);

/** Deletes up to `limit` rows of a customer, the oldest first. @returns how many */
export async function deleteAuditOf(tx: Tx, customerId: string, limit: number): Promise<number> {
  return (await DELETE_SOME.all(tx, { customerId, limit })).length;
}

const FORGET_INVITED = statement<{ userId: string; name: string }>(
  `update audit_log set object_name = :name
  where object_kind = 'invitation' and object_name = (select email from users where id = :userId)`,
);

/** Takes the address of a user who is being deleted out of the rows of invitations. Elsewhere rows have the user's id. */
export async function forgetInvited(tx: Tx, userId: string): Promise<void> {
  await FORGET_INVITED.run(tx, { userId, name: DELETED_USER });
}

/** What rows a page shows; null does not narrow. */
export interface AuditFilter {
  /** Milliseconds since the epoch, inclusive; `until` is exclusive. */
  readonly since: number | null;
  readonly until: number | null;
  readonly actorKind: AuditActorKind | null;
  readonly actorId: string | null;
  /** The name at that time, or the address of a user: of whoever has it, so that the rows tell nothing of accounts that are not in them. */
  readonly actorName: string | null;
  /** Of users, folded; null with `actorName`: it is no address. */
  readonly actorEmail: string | null;
  /** An action, or a group of them as `record.%`. */
  readonly action: string | null;
  readonly namespace: string | null;
  /** Of a record. */
  readonly key: string | null;
}

/** A row and its place in the order, the newest first. */
export interface AuditPosition {
  readonly at: number;
  readonly id: string;
}

const FILTERS = {
  actorKind: 'actor_kind = :actorKind',
  actorId: 'actor_id = :actorId',
  actorName: `(actor_name = :actorName
    or actor_kind = 'user' and actor_id = (select id from users where email = cast(:actorEmail as text)))`,
  action: 'action like :action',
  namespace: 'namespace = :namespace',
  key: "object_kind = 'record' and object_name = :key",
} as const;

const PASSES = Object.entries(FILTERS)
  .map(([name, condition]) => `(cast(:${name} as text) is null or ${condition})`)
  .join(' and ');

const FROM = `from audit_log where customer_id = :customerId and at >= :since and (at, id) < (:at, :id)
  order by at desc, id desc`;

interface PageParameters {
  readonly customerId: string;
  readonly since: number;
  readonly at: number;
  readonly id: string;
}

/** A user's name at that time is the address of the account: it never changes. Null: the account was deleted. */
const NAMED = `customer_id, at, id, request_id, actor_kind, actor_id,
  case when actor_kind = 'user' then (select email from users where users.id = actor_id) else actor_name end as actor_name,
  action, outcome, object_kind, object_id,
  case when object_kind = 'member' then (select email from users where users.id = object_id) else object_name end as object_name,
  namespace, count, tag_before, tag_after, seq`;

const PAGE = statement<
  PageParameters & Omit<AuditFilter, 'since' | 'until'> & { examined: number; limit: number },
  AuditRow
>(
  `select ${NAMED} from (select ${COLUMNS} ${FROM} limit :examined) as examined_rows
  where ${PASSES} order by at desc, id desc limit :limit`,
);

const LAST_EXAMINED = statement<PageParameters & { offset: number }, AuditPosition>(
  `select at, id ${FROM} limit 1 offset :offset`,
);

interface AuditPageOptions {
  readonly filter: AuditFilter;
  /** Rows after it, which are older; null: from the newest on. */
  readonly after: AuditPosition | null;
  readonly limit: number;
  /** Rows that are looked through at most. */
  readonly examined: number;
}

/**
 * Rows of a customer that pass the filter, the newest first.
 * @returns `next`: where the next page begins; null: there is nothing more. A page may have no rows and a next one
 */
export async function readAuditPage(
  db: Db,
  customerId: string,
  { filter, after, limit, examined }: AuditPageOptions,
): Promise<{ readonly rows: readonly AuditRow[]; readonly next: AuditPosition | null }> {
  const { since, until, ...narrow } = filter;
  const { at, id } = after ?? { at: until ?? Number.MAX_SAFE_INTEGER, id: '' };
  const place = { customerId, since: since ?? 0, at, id };
  const found = await PAGE.all(db, { ...place, ...narrow, examined, limit: limit + 1 });
  const rows = found.slice(0, limit);
  const last = rows.at(-1);
  if (found.length > limit && last !== undefined) return { rows, next: { at: last.at, id: last.id } };
  return { rows, next: await LAST_EXAMINED.first(db, { ...place, offset: examined - 1 }) };
}
