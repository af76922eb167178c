/** What must be true of a database whenever no unit runs, whatever races and crashes came before. */
import assert from 'node:assert/strict';
import { LIMITS, TIERS } from '../../../src/base/limits.ts';
import type { Change } from '../../../src/protocol/change.ts';
import { decodeChange } from '../../../src/protocol/changes/change-codec.ts';
import { BLOCK, type ChangeLogTable } from '../../../src/store/log/change-log.ts';
import type { NamespaceRow } from '../../../src/store/namespaces.ts';
import type { QueryTokenRow } from '../../../src/store/query-tokens.ts';
import type { RecordRow } from '../../../src/store/records.ts';
import type { Db, Store } from '../../../src/store/store.ts';
import { query } from './rows.ts';

/** Statements that find nothing in a database that is right, by what their rows break. */
const WRONG: Readonly<Record<string, string>> = {
  'customers.records_count is the number of records in open namespaces': `
    select c.id, c.records_count as stored, count(r.id) as counted from customers c
    left join namespaces n on n.customer_id = c.id and n.closing = 0 left join records r on r.namespace_id = n.id
    group by c.id, c.records_count having c.records_count <> count(r.id)`,
  'namespaces.records_count is the number of records': `
    select n.id, n.name, n.records_count as stored, count(r.id) as counted from namespaces n
    left join records r on r.namespace_id = n.id where n.closing = 0
    group by n.id, n.name, n.records_count having n.records_count <> count(r.id)`,
  'idempotency_keys.octets is the length of the answer, and a key that is taken has one': `
    select id, octets, length(answer) as counted from idempotency_keys where octets <> length(answer) or octets = 0`,
  'feed_head.seq is the last change, and the log has no gap': `
    select h.seq, min(l.seq) as oldest, max(l.seq) as newest, count(l.seq) as counted
    from feed_head h cross join change_log l group by h.seq
    having h.seq <> max(l.seq) or max(l.seq) - min(l.seq) + 1 <> count(l.seq)`,
  'each change of a customer stands in a block that is found': `
    select l.seq, l.owner from change_log l where l.owner is not null and not exists (
      select 1 from feed_blocks b where b.owner = l.owner and b.block = l.seq / ${BLOCK})`,
  'cursors are within the log, and the erasure is not ahead of the fan-out': `
    select e.seq as erasure, w.seq as webhooks, h.seq as head
    from feed_cursors e, feed_cursors w, feed_head h where e.name = 'erasure' and w.name = 'webhooks'
    and (w.seq > h.seq or e.seq > w.seq)`,
  'a customer who is behind is behind the fan-out, and not behind the erasure': `
    select c.customer_id, c.behind, e.seq as erasure, w.seq as webhooks
    from event_counters c, feed_cursors e, feed_cursors w where e.name = 'erasure' and w.name = 'webhooks'
    and (c.behind >= w.seq or c.behind < e.seq)`,
  'event_counters.seq is not behind a delivery, and no event is delivered twice': `
    select w.customer_id, max(d.seq) as delivered, count(*) as counted
    from webhook_deliveries d join webhooks w on w.id = d.webhook_id
    left join event_counters e on e.customer_id = w.customer_id where d.seq is not null
    group by w.id, w.customer_id, e.seq having max(d.seq) > coalesce(e.seq, 0) or count(*) <> count(distinct d.seq)`,
  'webhooks.next_due_at is the earliest attempt that waits': `
    select w.id, w.next_due_at as stored, min(d.next_attempt_at) as counted
    from webhooks w left join webhook_deliveries d on d.webhook_id = w.id and d.status = 'pending'
    where w.enabled = 1 and w.claim is null group by w.id, w.next_due_at
    having coalesce(w.next_due_at, 0) <> coalesce(min(d.next_attempt_at), 0)`,
  'a delivery waits exactly while it has a next attempt': `
    select id, status, next_attempt_at from webhook_deliveries
    where (status = 'pending') <> (next_attempt_at is not null)`,
  'a webhook that is off has neither lease nor due time': `
    select id, claim, next_due_at from webhooks where enabled = 0 and (claim is not null or next_due_at is not null)`,
  'histories count their rows': `
    select h.id, h.versions, h.creations, count(v.key) as counted from histories h
    left join record_versions v on v.history_id = h.id where h.ended = 0 group by h.id, h.versions, h.creations
    having h.versions + h.creations <> count(v.key)
      or h.creations <> sum(case when v.cause = 'create' then 1 else 0 end)`,
  'a version belongs to a history': `
    select history_id, key from record_versions where history_id not in (select id from histories)`,
  'a history that has not ended is that of its namespace, and has a key': `
    select h.id from histories h where (h.ended = 0) <> exists (
      select 1 from namespaces n join history_keys k on k.history_id = n.history_id
      where n.history_id = h.id and n.id = h.namespace_id and n.closing = 0)`,
  'blocks and counts of the query log belong to a series': `
    select block as id from query_log_blocks where series_id not in (select id from query_log_series)
    union all select series_id from query_log_counts
    where series_id not in (select id from query_log_series union all select id from query_log_splits)`,
  'a minute of the query log counts at least its rows': `
    select c.series_id, c.start, c.total as stored, sum(b.row_count) as counted from query_log_counts c
    join query_log_blocks b on b.series_id = c.series_id and b.first_at >= c.start and b.first_at < c.start + 60000
    where c.span = 60000 group by c.series_id, c.start, c.total having sum(b.row_count) > c.total`,
  'dataset_versions.parts is the number of parts': `
    select v.id, v.parts as stored, count(p.part) as counted from dataset_versions v
    left join dataset_parts p on p.version_id = v.id where v.state <> 'retired'
    group by v.id, v.parts having v.parts <> count(p.part)`,
  'each customer who is not being deleted has an owner': `
    select c.id from customers c where c.closing = 0 and not exists (
      select 1 from memberships m where m.customer_id = c.id and m.role = 'owner')`,
  'a live query token of a session ends with it': `
    select t.id from query_tokens t left join sessions s on s.id = t.session_id
    where t.session_id is not null and t.revoked_at is null and t.expires_at > :now
    and (s.id is null or s.revoked_at is not null)`,
  'a live session acts for a customer of its user': `
    select s.id from sessions s where s.revoked_at is null and s.expires_at > :now and not exists (
      select 1 from memberships m where m.customer_id = s.customer_id and m.user_id = s.user_id)`,
  'whoever made a live token or an enabled webhook is a member': `
    select t.id from query_tokens t join namespaces n on n.id = t.namespace_id
    where t.revoked_at is null and t.expires_at > :now and n.closing = 0 and t.created_by is not null and not exists (
      select 1 from memberships m where m.customer_id = n.customer_id and m.user_id = t.created_by)
    union all select w.id from webhooks w where w.enabled = 1 and w.created_by is not null and not exists (
      select 1 from memberships m where m.customer_id = w.customer_id and m.user_id = w.created_by)`,
  'nothing of a customer who is being deleted lets anybody in': `
    select k.id from api_keys k join customers c on c.id = k.customer_id where c.closing = 1
    union all select w.id from webhooks w join customers c on c.id = w.customer_id
    where c.closing = 1 and (w.enabled = 1 or coalesce(w.cleanup, '') <> 'delete')
    union all select t.id from query_tokens t join namespaces n on n.id = t.namespace_id
    where n.closing = 1 and t.revoked_at is null and t.expires_at > :now`,
};

/** The count of each is never above its limit. Tiers that were lowered leave more: they are not among these. */
const AT_MOST: readonly (readonly [what: string, limit: number, counts: string])[] = [
  [
    'namespaces of a customer',
    LIMITS.namespacesPerCustomer,
    'select customer_id as id, count(*) as counted from namespaces where closing = 0 group by customer_id',
  ],
  [
    'API keys of a customer',
    LIMITS.apiKeysPerCustomer,
    'select customer_id as id, count(*) as counted from api_keys group by customer_id',
  ],
  [
    'webhooks of a customer',
    Math.max(...Object.values(TIERS).map(({ webhooks }) => webhooks)),
    `select customer_id as id, count(*) as counted from webhooks
    where coalesce(cleanup, '') <> 'delete' group by customer_id`,
  ],
  [
    'members and invitations of an organization',
    LIMITS.membersPerOrganization,
    'select customer_id as id, count(*) as counted from memberships group by customer_id',
  ],
  [
    'passkeys of a user',
    LIMITS.passkeysPerUser,
    'select user_id as id, count(*) as counted from passkeys group by user_id',
  ],
  [
    'sessions of a user',
    LIMITS.sessionsPerUser,
    'select user_id as id, count(*) as counted from sessions group by user_id',
  ],
  [
    'waiting deliveries of a webhook',
    LIMITS.webhookPending,
    `select webhook_id as id, count(*) as counted from webhook_deliveries where status = 'pending' group by webhook_id`,
  ],
];

/**
 * Everything in which the tables disagree with each other and with the log; empty: nothing. Reads all of them.
 * @param now milliseconds since the epoch, of a process that ends credentials
 */
export async function disagreements(read: Db, now: number): Promise<string[]> {
  const found: string[] = [];
  for (const [rule, sql] of Object.entries(WRONG)) {
    for (const row of await query<object>(read, sql, { now })) found.push(`${rule}: ${JSON.stringify(row)}`);
  }
  for (const [what, limit, counts] of AT_MOST) {
    const above = `select * from (${counts}) as counts where counted > ${limit}`;
    for (const row of await query<object>(read, above))
      found.push(`${what}: at most ${limit}: ${JSON.stringify(row)}`);
  }
  return [...found, ...(await logDisagreements(read))];
}

/** Fails when the tables of a store, of which no unit runs, disagree. */
export async function assertAgrees({ read }: Pick<Store, 'read'>, now: number = Date.now()): Promise<void> {
  assert.deepEqual(await disagreements(read, now), []);
}

type Hosted = Exclude<Change, { type: `dataset.${string}` }>;

/** What a change is about: only the last change of each says what is true now. */
function subjectOf(change: Hosted): string {
  if ('key' in change) return `record ${change.key}`;
  if ('digest' in change) return `token ${change.digest}`;
  return `namespace ${change.namespace}`;
}

/** The log ends with what the tables say, of everything that it still has a change of. */
async function logDisagreements(read: Db): Promise<string[]> {
  const rows = await query<ChangeLogTable>(
    read,
    "select * from change_log where type not like 'dataset.%' order by seq",
  );
  const last = new Map<string, Hosted>();
  const found: string[] = [];
  for (const row of rows) {
    const change = decodeChange(row) as Hosted;
    last.set(subjectOf(change), change);
    const namespace = last.get(`namespace ${change.namespace}`);
    const isAdded = change.type === 'record.upserted' || change.type === 'token.minted';
    if (isAdded && namespace !== undefined && namespace.type !== 'namespace.upserted') {
      found.push(`${subjectOf(change)}: added to the log after the end of its namespace`);
    }
  }
  const isWhole = rows[0]?.seq === 1;
  const told = new Map([...last].map(([subject, change]) => [subject, saidBy(change)]));
  const stored = await storedNow(read);
  for (const [subject, text] of stored) {
    const said = told.get(subject) ?? (isWhole ? 'nothing' : text);
    if (said !== text) found.push(`${subject}: the log says ${said}, the tables ${text}`);
  }
  for (const [subject, said] of told) {
    if (said !== GONE && !stored.has(subject))
      found.push(`${subject}: the log says ${said}, the tables nothing`);
  }
  return found;
}

const GONE = 'gone';

function saidBy(change: Hosted): string {
  switch (change.type) {
    case 'record.upserted': {
      const { data, contentType, ttlSeconds, expiresAt, encoding = null } = change;
      return JSON.stringify([change.namespace, data, contentType, ttlSeconds, expiresAt, encoding]);
    }
    case 'namespace.upserted':
      return JSON.stringify([change.id, change.publicRead, change.suspended, change.maxTtl]);
    case 'token.minted':
      return JSON.stringify([change.namespace, change.expiresAt]);
    case 'namespace.closing':
      return `closing ${change.id}`;
    default:
      return GONE;
  }
}

/** Of tokens those that were not revoked. A namespace that is closing may still have some of its records. */
async function storedNow(read: Db): Promise<Map<string, string>> {
  const stored = new Map<string, string>();
  const records = await query<RecordRow>(
    read,
    'select r.*, n.name as namespace from records r join namespaces n on n.id = r.namespace_id',
  );
  for (const row of records) {
    const data = Buffer.from(row.data).toString('base64');
    const { namespace, content_type, ttl_seconds, expires_at, encoding } = row;
    stored.set(
      `record ${row.key}`,
      JSON.stringify([namespace, data, content_type, ttl_seconds, expires_at, encoding]),
    );
  }
  for (const row of await query<NamespaceRow>(read, 'select * from namespaces')) {
    const text =
      row.closing === 1
        ? `closing ${row.id}`
        : JSON.stringify([row.id, row.public_read === 1, row.suspended === 1, row.max_ttl]);
    stored.set(`namespace ${row.name}`, text);
  }
  const tokens = await query<QueryTokenRow & { namespace: string }>(
    read,
    `select t.*, n.name as namespace from query_tokens t join namespaces n on n.id = t.namespace_id
    where t.revoked_at is null`,
  );
  for (const { digest, namespace, expires_at } of tokens) {
    stored.set(`token ${digest}`, JSON.stringify([namespace, expires_at]));
  }
  return stored;
}
