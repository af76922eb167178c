/** The tables of release 0.1.0, in the two steps that its databases name. Never changed. */

/** Accounts, namespaces, records, the change log, shared budgets. */
export const FIRST_TABLES = `
create table users (
  id text not null primary key,
  email text not null unique,
  role text not null,
  tier text not null,
  records_count integer not null,
  created_at integer not null
) strict;
create table sessions (
  id text not null primary key,
  user_id text not null references users (id) on delete cascade,
  created_at integer not null,
  expires_at integer not null,
  revoked_at integer
) strict;
create index sessions_user on sessions (user_id);
create index sessions_expiry on sessions (expires_at);
create table api_keys (
  id text not null primary key,
  user_id text not null references users (id) on delete cascade,
  name text not null,
  digest text not null unique,
  operations text not null,
  namespaces text not null,
  last_used_at integer,
  expires_at integer,
  created_at integer not null
) strict;
create index api_keys_listing on api_keys (user_id, created_at, id);
create table rate_windows (
  key text not null primary key,
  started_at integer not null,
  count integer not null
) strict;
create table namespaces (
  id text not null primary key,
  name text not null unique,
  user_id text not null references users (id) on delete cascade,
  public_read integer not null,
  suspended integer not null,
  records_count integer not null,
  created_at integer not null,
  updated_at integer not null
) strict;
create index namespaces_listing on namespaces (user_id, created_at, id);
create table query_tokens (
  id text not null primary key,
  namespace_id text not null references namespaces (id) on delete cascade,
  name text not null,
  digest text not null unique,
  expires_at integer not null,
  revoked_at integer,
  created_at integer not null
) strict;
create index query_tokens_listing on query_tokens (namespace_id, created_at, id);
create table records (
  id text not null primary key,
  namespace_id text not null references namespaces (id) on delete cascade,
  key text not null unique,
  resource text not null,
  version text not null,
  data blob not null,
  content_type text not null,
  ttl_seconds integer not null,
  expires_at integer,
  created_at integer not null,
  updated_at integer not null
) strict;
create index records_listing on records (namespace_id, created_at, id);
create index records_expiry on records (expires_at) where expires_at is not null;
create table feed_head (id integer not null primary key, seq integer not null) strict;
insert into feed_head (id, seq) values (1, 0);
create table change_log (
  seq integer not null primary key,
  at integer not null,
  owner text,
  cause text not null,
  type text not null,
  namespace text not null,
  key text,
  body text not null,
  data blob
) strict;
create index change_log_key on change_log (key) where data is not null;
create index change_log_namespace on change_log (namespace) where data is not null;
`;

/** Webhooks, their deliveries, where the fan-out stands in the log, and the numbers of customers' events. */
export const WEBHOOKS = `
create table webhooks (
  id text not null primary key,
  user_id text not null references users (id) on delete cascade,
  name text not null,
  url text not null,
  events text not null,
  namespaces text not null,
  enabled integer not null,
  failure_count integer not null,
  last_triggered_at integer,
  secret_digest text not null,
  signing_secret blob not null,
  starts_after integer not null,
  next_due_at integer,
  rests_until integer not null,
  claim text,
  claimed_until integer not null,
  served_at integer not null,
  attempt_minutes text not null,
  notice_due_at integer,
  created_at integer not null
) strict;
create index webhooks_listing on webhooks (user_id, created_at, id);
create index webhooks_due on webhooks (served_at, id) where next_due_at is not null;
create index webhooks_notice on webhooks (notice_due_at) where notice_due_at is not null;
create table webhook_deliveries (
  id text not null primary key,
  webhook_id text not null references webhooks (id) on delete cascade,
  event text not null,
  seq integer,
  status text not null,
  response_code integer,
  error text,
  attempts integer not null,
  duration_ms integer,
  created_at integer not null,
  last_attempt_at integer,
  next_attempt_at integer,
  body blob
) strict;
create index webhook_deliveries_listing on webhook_deliveries (webhook_id, created_at, id);
create index webhook_deliveries_due on webhook_deliveries (webhook_id, next_attempt_at, seq) where status = 'pending';
create table feed_cursors (name text not null primary key, seq integer not null, at integer not null) strict;
insert into feed_cursors (name, seq, at) select 'webhooks', seq, 0 from feed_head;
create table event_counters (
  user_id text not null primary key references users (id) on delete cascade,
  seq integer not null
) strict;
`;
