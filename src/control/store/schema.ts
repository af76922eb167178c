import type { Tier } from '../../core/tiers.ts';

/** Times are milliseconds since the epoch, flags are 0 or 1, ids are UUID text, lists are JSON text. */
export interface Database {
  users: UsersTable;
  sessions: SessionsTable;
  api_keys: ApiKeysTable;
  namespaces: NamespacesTable;
  query_tokens: QueryTokensTable;
  records: RecordsTable;
  feed_head: FeedHeadTable;
  change_log: ChangeLogTable;
  rate_windows: RateWindowsTable;
}

export interface UsersTable {
  id: string;
  /** Lower case, unique. */
  email: string;
  role: 'user' | 'admin';
  tier: Tier;
  /** Kept with every write: the record cap is judged against it under the row's lock. */
  records_count: number;
  created_at: number;
}

/** A sign-in. The id is the JWT's `sid`; the row is looked up on every call, so sign-out is immediate. */
export interface SessionsTable {
  id: string;
  user_id: string;
  created_at: number;
  expires_at: number;
  revoked_at: number | null;
}

export interface ApiKeysTable {
  id: string;
  user_id: string;
  name: string;
  /** Lower-case hex SHA-256 of the token, unique. */
  digest: string;
  /** JSON array of `read`, `write`; empty means both. */
  operations: string;
  /** JSON array of namespace names; empty means all of the customer's. */
  namespaces: string;
  last_used_at: number | null;
  expires_at: number | null;
  created_at: number;
}

export interface NamespacesTable {
  id: string;
  name: string;
  user_id: string;
  public_read: number;
  suspended: number;
  records_count: number;
  created_at: number;
  updated_at: number;
}

export interface QueryTokensTable {
  id: string;
  namespace_id: string;
  name: string;
  /** Lower-case hex SHA-256, unique. */
  digest: string;
  expires_at: number;
  revoked_at: number | null;
  created_at: number;
}

export interface RecordsTable {
  id: string;
  namespace_id: string;
  /** Unique, lower case. */
  key: string;
  resource: string;
  version: string;
  data: Uint8Array;
  content_type: string;
  ttl_seconds: number;
  expires_at: number | null;
  created_at: number;
  updated_at: number;
}

/** One row, id 1: the last `seq` given out. */
export interface FeedHeadTable {
  id: number;
  seq: number;
}

export interface ChangeLogTable {
  seq: number;
  at: number;
  owner: string | null;
  cause: 'direct' | 'cascade' | 'expiry';
  type: string;
  namespace: string;
  /** Record changes only. */
  key: string | null;
  /** JSON of the rest of the Change body, record payloads aside. */
  body: string;
  /** Payload of an upserted record; null for other types, and once a later delete or expiry erased it. */
  data: Uint8Array | null;
}

/** Budgets shared by several processes on PostgreSQL; one process keeps them in memory. */
export interface RateWindowsTable {
  key: string;
  started_at: number;
  count: number;
}
