import type { Db } from '../store.ts';

/** What the step `0004-changes` adds: where a customer's changes stand in the log, the history of namespaces that keep one, and the audit log. */
export const CHANGES = `
create table feed_blocks (
  owner text not null,
  block integer not null,
  primary key (owner, block)
) strict, without rowid;
alter table records add column revision integer default 1 not null;
alter table namespaces add column history_id integer;
alter table namespaces add column history_versions integer;
alter table namespaces add column history_days integer;
alter table namespaces add column history_since integer;
create table history_keys (history_id integer not null primary key, secret blob not null) strict;
create table histories (
  id integer not null primary key,
  namespace_id text not null,
  customer_id text not null,
  versions integer not null,
  creations integer not null,
  whole_since integer not null,
  trim integer not null,
  ended integer not null
) strict;
create index histories_namespace on histories (namespace_id);
create index histories_customer on histories (customer_id);
create table record_versions (
  history_id integer not null,
  key text not null,
  version integer not null,
  cause text not null,
  valid_from integer not null,
  valid_to integer not null,
  write_seq integer not null,
  write_rows integer not null,
  content_type text not null,
  ttl_seconds integer not null,
  expires_at integer,
  octets integer not null,
  data blob,
  constraint record_versions_key primary key (history_id, key, version, cause)
) strict;
create index record_versions_write on record_versions (history_id, write_seq);
create index record_versions_expiry on record_versions (expires_at) where expires_at is not null and data is not null;
create table audit_log (
  customer_id text not null,
  at integer not null,
  id text not null,
  request_id text,
  actor_kind text not null,
  actor_id text,
  actor_name text,
  action text not null,
  outcome text not null,
  object_kind text,
  object_id text,
  object_name text,
  namespace text,
  count integer,
  tag_before integer,
  tag_after integer,
  seq integer,
  primary key (customer_id, at, id)
) strict, without rowid;
create index audit_log_bounded on audit_log (customer_id, at) where outcome = 'refused' or action = 'sign_in.failed';
create index audit_log_invitations on audit_log (object_name) where object_kind = 'invitation';
`;

/**
 * What `0005-plain-text` adds: the encoding of a value in answers, and the place that a record which can be gone had in listings. Histories of
 * before know no more of it than its key and when its first value began.
 */
export const PLAIN_TEXT = `
alter table records add column encoding text;
alter table record_versions add column encoding text;
alter table record_versions add column created_at integer;
alter table record_versions add column record_id text;
update record_versions set
  created_at = coalesce(
    (select r.created_at from records as r where r.key = record_versions.key and r.created_at <= record_versions.valid_from),
    (select min(o.valid_from) from record_versions as o
      where o.history_id = record_versions.history_id and o.key = record_versions.key)),
  record_id = coalesce(
    (select r.id from records as r where r.key = record_versions.key and r.created_at <= record_versions.valid_from), key)
where cause <> 'create' and not exists (
  select 1 from records as r
  where r.key = record_versions.key and r.created_at <= record_versions.valid_from and r.expires_at is null);
create index record_versions_listing on record_versions (history_id, created_at, record_id) where record_id is not null;
`;

/**
 * What `0006-told` adds: query tokens that end with a session, and what a webhook can tell of itself. Of a webhook from before this step only
 * is known that its last attempt succeeded, where none has failed since.
 */
export const TOLD = `
alter table query_tokens add column session_id text;
create index query_tokens_session on query_tokens (session_id) where session_id is not null;
create index query_tokens_ending on query_tokens (namespace_id, expires_at) where revoked_at is null;
alter table webhooks add column health text default '{}' not null;
alter table webhooks add column disabled_at integer;
alter table webhooks add column disabled_user text;
update webhooks set health = '{"good":' || last_triggered_at || '}'
where failure_count = 0 and enabled = 1 and last_triggered_at is not null;
`;

/**
 * What `0007-record-order` adds: listings of records by key, by prefix of a key, by resource and by the last change read a range of an index.
 * Keys sort by bytes on both engines. `updated_at` in an index costs PostgreSQL its updates in place (HOT).
 */
export const recordOrder = (engine: Db['engine']): string => `
${
  engine === 'postgres'
    ? 'alter table records alter column key type text collate "C", alter column resource type text collate "C";'
    : ''
}
create index records_by_key on records (namespace_id, key);
create index records_by_resource on records (namespace_id, resource, key);
create index records_by_change on records (namespace_id, updated_at, id);
`;

/**
 * What `0008-hours` adds: counts of the query log by resource, transport and node, in hours alone, and the index by which counts of hours
 * leave. The counts of a split are in `query_log_counts` under its id, which no series has.
 */
export const HOURS = `
create table query_log_splits (
  id integer not null primary key,
  namespace_id text not null references namespaces (id),
  kind text not null,
  value text not null,
  constraint query_log_splits_key unique (namespace_id, kind, value)
) strict;
create index query_log_counts_age on query_log_counts (start) where span = 3600000;
`;

/**
 * What `0009-transparency` adds: the transparency log of datasets. `log_tiles` has the roots of full tiles only; hashes of leaves are those of the
 * entries. The row of `log_head` comes with `uqrp log init`.
 */
export const transparency = (engine: Db['engine']): string => `
create table log_head (
  id integer not null primary key,
  size integer not null,
  origin text not null,
  holder text,
  held_until integer not null
) strict;
create table log_entries (
  idx integer not null primary key,
  leaf blob not null,
  hash blob not null,
  kind text not null,
  name text ${engine === 'postgres' ? 'collate "C"' : ''} not null,
  version_id text,
  proof text
) strict;
create index log_entries_name on log_entries (name, idx);
create index log_entries_unproved on log_entries (idx) where kind = 'manifest' and proof is null;
create table log_tiles (
  level integer not null,
  n integer not null,
  hash blob not null,
  constraint log_tiles_key primary key (level, n)
) strict, without rowid;
create table log_checkpoints (
  size integer not null primary key,
  root blob not null,
  note text not null,
  published integer
) strict;
`;

/**
 * What `0010-makers` adds: who sent an invitation, who last gave a webhook its URL and who its secrets, and indexes by which invitations leave
 * with the account of their address and after their end. Of rows from before this step nobody knows.
 */
export const MAKERS = `
alter table invitations add column invited_by text;
create index invitations_email on invitations (email);
create index invitations_expiry on invitations (expires_at);
alter table webhooks add column url_by text;
alter table webhooks add column secret_by text;
`;

/** What `0011-behind` adds: up to where in the log a customer was told who is behind the others. */
export const BEHIND = `
alter table event_counters add column behind integer;
create index event_counters_behind on event_counters (behind) where behind is not null;
`;
