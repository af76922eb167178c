/** From the tables of release 0.1.0 to those of 0.2. */
import { randomUuid, realRandom } from '../../base/chance.ts';
import type { Db } from '../store.ts';

/** A column with UNIQUE is dropped on PostgreSQL alone. */
const ALTER_CUSTOMERS = `
alter table customers drop column email;
alter table customers drop column role;
alter table customers add column name text;
alter table customers add column closing integer default 0 not null;
`;

/**
 * SQLite cannot drop a column that is UNIQUE, so the table is made again (sqlite.org/lang_altertable.html, section 7). Foreign keys
 * are off during migrations: with them `drop table` would delete every row that references a customer.
 */
const REBUILD_CUSTOMERS = `
create table customers_new (
  id text not null primary key,
  tier text not null,
  records_count integer not null,
  created_at integer not null,
  name text,
  closing integer default 0 not null
) strict;
insert into customers_new (id, tier, records_count, created_at) select id, tier, records_count, created_at from customers;
drop table customers;
alter table customers_new rename to customers;
`;

/**
 * A customer owns, a user signs in: each user becomes the owner of a customer with the same id, so every row that referenced the user
 * references that customer. `users` is renamed and not copied, because renaming lets the references of other tables follow.
 */
const customers = (engine: Db['engine']): string => `
alter table users rename to customers;
${engine === 'postgres' ? 'alter table customers rename constraint users_pkey to customers_pkey;' : ''}
create table users (
  id text not null primary key,
  email text not null unique,
  role text not null,
  created_at integer not null
) strict;
insert into users (id, email, role, created_at) select id, email, role, created_at from customers;
create table memberships (
  customer_id text not null references customers (id) on delete cascade,
  user_id text not null references users (id) on delete cascade,
  role text not null,
  created_at integer not null,
  constraint memberships_key primary key (customer_id, user_id)
) strict;
create index memberships_user on memberships (user_id);
insert into memberships (customer_id, user_id, role, created_at) select id, id, 'owner', created_at from customers;
${engine === 'postgres' ? ALTER_CUSTOMERS : REBUILD_CUSTOMERS}
create index customers_closing on customers (id) where closing = 1;
alter table namespaces rename column user_id to customer_id;
alter table api_keys rename column user_id to customer_id;
alter table webhooks rename column user_id to customer_id;
alter table event_counters rename column user_id to customer_id;
create table invitations (
  id text not null primary key,
  customer_id text not null references customers (id) on delete cascade,
  email text not null,
  role text not null,
  digest text not null unique,
  expires_at integer not null,
  created_at integer not null,
  constraint invitations_address unique (customer_id, email)
) strict;
`;

/** A session is a user's, and acts for one customer. The command line alone began those of release 0.1.0. */
const SIGN_IN = `
alter table sessions rename to sessions_old;
drop index sessions_user;
drop index sessions_expiry;
create table sessions (
  id text not null,
  user_id text not null references users (id) on delete cascade,
  customer_id text not null references customers (id) on delete cascade,
  created_at integer not null,
  expires_at integer not null,
  revoked_at integer,
  method text default 'cli' not null,
  last_used_at integer,
  constraint sessions_key primary key (id)
) strict;
insert into sessions (id, user_id, customer_id, created_at, expires_at, revoked_at)
  select id, user_id, user_id, created_at, expires_at, revoked_at from sessions_old;
drop table sessions_old;
create index sessions_user on sessions (user_id);
create index sessions_customer on sessions (customer_id);
create index sessions_expiry on sessions (expires_at);
create table sign_in_codes (
  address text not null,
  slot integer not null,
  flow text not null unique,
  digest text not null,
  network text,
  tries integer not null,
  expires_at integer not null,
  constraint sign_in_codes_slots primary key (address, slot)
) strict;
create index sign_in_codes_expiry on sign_in_codes (expires_at);
create table sign_in_browsers (
  digest text not null primary key,
  user_id text not null references users (id) on delete cascade,
  expires_at integer not null
) strict;
create index sign_in_browsers_user on sign_in_browsers (user_id);
create table jwt_keys (
  period integer not null primary key,
  kid text not null unique,
  public_key text not null,
  private_key blob not null
) strict;
create table passkeys (
  id text not null primary key,
  user_id text not null references users (id) on delete cascade,
  name text not null,
  credential_id text not null unique,
  public_key blob not null,
  sign_count integer not null,
  transports text not null,
  backed_up integer not null,
  last_used_at integer,
  created_at integer not null
) strict;
create index passkeys_listing on passkeys (user_id, created_at, id);
create table used_challenges (
  digest text not null primary key,
  user_id text not null references users (id) on delete cascade,
  expires_at integer not null
) strict;
create index used_challenges_user on used_challenges (user_id, expires_at);
create index used_challenges_expiry on used_challenges (expires_at, digest);
`;

/**
 * What is deleted in several units, who made what, and how long caches keep open answers. On PostgreSQL, whose databases may sort by the
 * rules of a language, names sort by bytes: the same names are compared in JavaScript, and both must agree.
 */
const hosted = (engine: Db['engine']): string => `
alter table namespaces add column closing integer default 0 not null;
alter table namespaces add column max_ttl integer default 60 not null;
create index namespaces_closing on namespaces (id) where closing = 1;
${engine === 'postgres' ? 'alter table namespaces alter column name type text collate "C";' : ''}
alter table query_tokens add column created_by text;
create index query_tokens_creator on query_tokens (created_by) where created_by is not null;
create table idempotency_keys (
  id text not null primary key,
  customer_id text not null constraint idempotency_keys_user_id_fkey references customers (id) on delete cascade,
  answer blob not null,
  octets integer not null,
  created_at integer not null
) strict;
create index idempotency_keys_user on idempotency_keys (customer_id, octets);
create index idempotency_keys_age on idempotency_keys (created_at, id);
`;

/** `webhooks/dispatch.ts` spells both expressions and the condition of `webhooks_turn` the same way: only then an engine uses it. */
const WEBHOOKS = `
alter table webhooks add column claimed_delivery text;
alter table webhooks add column last_attempt_ms integer;
alter table webhooks add column cleanup text;
alter table webhooks add column disabled_by text;
alter table webhooks add column created_by text;
drop index webhooks_due;
create index webhooks_turn on webhooks (
  (case when last_attempt_ms >= 1000 then 1 else 0 end),
  (case when next_due_at >= rests_until and next_due_at >= claimed_until then next_due_at
    when rests_until >= claimed_until then rests_until else claimed_until end),
  customer_id
) where enabled = 1 and next_due_at is not null;
create index webhooks_cleanup on webhooks (id) where cleanup is not null;
`;

/** `epoch` identifies this database. The erasure begins at the start of the log: what release 0.1.0 left in it is erased too. */
const log = (): string => `
create table service_facts (name text not null primary key, value text not null) strict;
insert into service_facts (name, value) values ('epoch', '${randomUuid(realRandom)}');
insert into feed_cursors (name, seq, at) values ('erasure', 0, 0);
create table feed_keys (period integer not null primary key, secret blob not null) strict;
create table dnssec_key_sets (
  zone text not null primary key,
  version integer not null,
  document text not null,
  updated_at integer not null
) strict;
`;

/**
 * Usage, and the query log. Two references are missing on purpose. Counts may come after their namespace was deleted, and must not stop the
 * rest of their batch. PostgreSQL would check a reference of each block; the unit that deletes a series deletes its blocks before.
 */
const TELEMETRY = `
create table usage_hours (
  namespace_id text not null,
  hour integer not null,
  answers integer not null,
  constraint usage_hours_key primary key (namespace_id, hour)
) strict;
create index usage_hours_age on usage_hours (hour);
create table usage_deleted_hours (
  customer_id text not null references customers (id) on delete cascade,
  hour integer not null,
  answers integer not null,
  constraint usage_deleted_hours_key primary key (customer_id, hour)
) strict;
create table usage_batches (
  node text not null,
  batch text not null,
  added_at integer not null,
  constraint usage_batches_key primary key (node, batch)
) strict;
create index usage_batches_age on usage_batches (added_at);
create table query_log_head (
  id integer not null primary key,
  last_row integer not null,
  last_series integer not null
) strict;
insert into query_log_head (id, last_row, last_series) values (1, 2048, 0);
create table query_log_series (
  id integer not null primary key,
  namespace_id text not null references namespaces (id),
  status text not null,
  constraint query_log_series_key unique (namespace_id, status)
) strict;
create table query_log_blocks (
  block integer not null primary key,
  series_id integer not null,
  first_id integer not null,
  first_at integer not null,
  last_at integer not null,
  row_count integer not null,
  node text not null,
  body text not null
) strict;
create index query_log_blocks_series on query_log_blocks (series_id, last_at, block, first_at, row_count);
create table query_log_counts (
  series_id integer not null,
  span integer not null,
  start integer not null,
  total integer not null,
  constraint query_log_counts_key primary key (series_id, span, start)
) strict, without rowid;
create table query_log_batches (
  node text not null,
  batch text not null,
  added_at integer not null,
  constraint query_log_batches_key primary key (node, batch)
) strict;
create index query_log_batches_age on query_log_batches (added_at);
`;

const datasets = (engine: Db['engine']): string => `
create table dataset_versions (
  id text not null primary key,
  slug text ${engine === 'postgres' ? 'collate "C"' : ''} not null,
  version text not null,
  state text not null,
  manifest text not null,
  items integer not null,
  windows integer not null,
  octets integer not null,
  layout integer not null,
  parts integer not null,
  has_parts integer not null,
  lease text,
  lease_until integer not null,
  created_at integer not null,
  published_at integer,
  retired_at integer
) strict;
-- Of a slug and version at most one row is being imported or served.
create unique index dataset_versions_live on dataset_versions (slug, version) where state <> 'retired';
create index dataset_versions_name on dataset_versions (slug, version);
create table dataset_parts (
  version_id text not null references dataset_versions (id),
  kind text not null,
  part integer not null,
  data blob not null,
  constraint dataset_parts_key primary key (version_id, kind, part)
) strict;
create table dataset_keys (
  kid text not null primary key,
  public_key text not null,
  since integer not null,
  until integer,
  is_own integer not null
) strict;
`;

export function secondRelease(engine: Db['engine']): string {
  return [customers(engine), SIGN_IN, hosted(engine), WEBHOOKS, log(), TELEMETRY, datasets(engine)].join('');
}
