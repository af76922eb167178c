/** What the API answers with, field for field. docs/API.md describes them. Times are ISO 8601 in UTC. */

export interface RecordResource {
  readonly id: string;
  /** `[<params>.]<resource>.<namespace>.<version>`, lower case. */
  readonly key: string;
  readonly resource: string;
  readonly namespace: string;
  readonly version: string;
  /** Base64. Missing in answers to an API key without `read`. */
  readonly data?: string;
  readonly content_type: string;
  /** Only where DNS answers carry the data as plain text, and not in Base64. */
  readonly encoding?: 'plain';
  readonly ttl_seconds: number;
  readonly expires_at: string | null;
  readonly created_at: string;
  readonly updated_at: string;
}

/** How many records have a label. */
export interface Facet {
  readonly name: string;
  readonly records: number;
}

/** Records by resource and by namespace, the largest counts first. */
export interface RecordFacets {
  readonly records: number;
  /** The counts by resource are estimated: there are too many records. */
  readonly estimated: boolean;
  readonly resources: readonly Facet[];
  /** Resources that were found and are not named. */
  readonly more_resources: number;
  readonly namespaces: readonly Facet[];
  readonly more_namespaces: number;
}

/** A line of `namespaces.export`. */
export interface ExportedRecord {
  readonly key: string;
  /** Base64. */
  readonly data: string;
  readonly content_type: string;
  /** Only where DNS answers carry the data as plain text, and not in Base64. */
  readonly encoding?: 'plain';
  readonly ttl_seconds: number;
  readonly expires_at: string | null;
}

/** A result of `records.bulk`. */
export interface BulkWritten {
  readonly id: string;
  readonly key: string;
}

export interface BulkResult {
  /** In the order of the request. */
  readonly records: readonly BulkWritten[];
  /** Ids in the order of the request; null: no record had this key. */
  readonly deleted: readonly (string | null)[];
}

export interface NamespaceResource {
  readonly id: string;
  readonly name: string;
  readonly records_count: number;
  /** Seconds: the longest TTL of an answer while everyone may read the namespace. */
  readonly max_ttl: number;
  readonly created_at: string;
  readonly updated_at: string;
  /** Only while reads over DNS need no query token: the operator has opened the namespace. */
  readonly public_read?: true;
  /** Only while the operator has suspended the namespace. */
  readonly suspended?: true;
  /** Only while the namespace keeps history. */
  readonly history?: NamespaceHistory;
}

/** What a namespace keeps of replaced and deleted values. */
export interface NamespaceHistory {
  /** Of a record, at most. */
  readonly versions: number;
  /** Of a version after its end, at most. */
  readonly days: number;
  readonly since: string;
}

export interface VersionResource {
  /** Grows with each write of the record; of a key over its deletions. */
  readonly version: number;
  readonly valid_from: string;
  /** Null: the present value. */
  readonly valid_to: string | null;
  /** What ended it. Null: the present value. */
  readonly cause: 'write' | 'delete' | null;
  readonly content_type: string;
  /** Only where DNS answers carry the data as plain text, and not in Base64. */
  readonly encoding?: 'plain';
  readonly ttl_seconds: number;
  readonly expires_at: string | null;
  readonly bytes: number;
  /** Only where its data are past `expires_at`, and erased. */
  readonly expired?: true;
  /** Base64. Not in lists. */
  readonly data?: string;
}

export interface UndoneRecord {
  readonly id: string;
  readonly key: string;
}

/** What an undo did. */
export interface UndoResult {
  /** They have the value from before the write again. */
  readonly restored: readonly UndoneRecord[];
  /** The write had made them. */
  readonly deleted: readonly UndoneRecord[];
}

/** Who made a query token or a webhook. */
export interface Maker {
  readonly user_id: string;
  /** Null unless you are an owner, and when the account was deleted. */
  readonly email: string | null;
}

export interface QueryTokenResource {
  readonly id: string;
  readonly name: string;
  readonly namespace_id: string;
  readonly expires_at: string;
  readonly revoked_at: string | null;
  readonly created_at: string;
  /** Null: an API key or the operator. */
  readonly created_by: Maker | null;
  /** True: a signed-in page minted it for its own reads, and it ends with that session. */
  readonly session: boolean;
}

/** A live token and the name of its namespace. */
export interface EndingQueryToken extends QueryTokenResource {
  readonly namespace: string;
}

export interface MintedQueryToken extends QueryTokenResource {
  /** Shown only here. */
  readonly token: string;
}

export type ApiOperation = 'read' | 'write';

export interface ApiKeyResource {
  readonly id: string;
  readonly name: string;
  /** Empty lists mean: both operations, all namespaces. */
  readonly scopes: { readonly operations: readonly ApiOperation[]; readonly namespaces: readonly string[] };
  readonly last_used_at: string | null;
  readonly expires_at: string | null;
  readonly created_at: string;
}

export interface CreatedApiKey extends ApiKeyResource {
  /** Shown only here. */
  readonly token: string;
}

export type WebhookEvent = 'record.upserted' | 'record.deleted' | 'namespace.upserted' | 'namespace.deleted';

export interface WebhookResource {
  readonly id: string;
  readonly name: string;
  readonly url: string;
  readonly events: readonly WebhookEvent[];
  readonly enabled: boolean;
  readonly failure_count: number;
  readonly last_triggered_at: string | null;
  readonly scopes: { readonly namespaces: readonly string[] };
  readonly created_at: string;
  /** Null: an API key. */
  readonly created_by: Maker | null;
  readonly health: WebhookHealth;
}

/** What the attempts of a webhook say of its endpoint. */
export interface WebhookHealth {
  /** `unproven`: no attempt has succeeded since it was made, enabled or given another URL, and none has failed. */
  readonly state: 'unproven' | 'healthy' | 'failing' | 'disabled';
  /** The first failed attempt of those in a row. */
  readonly failing_since: string | null;
  /** After a failed attempt nothing is sent before this time. */
  readonly rests_until: string | null;
  readonly last_success_at: string | null;
  readonly last_failure_at: string | null;
  /** Of the last failed attempt. */
  readonly last_error: DeliveryError | null;
  /** Of the last failed attempt; null: there was no response. */
  readonly last_response_code: number | null;
  readonly disabled_at: string | null;
  readonly disabled_by: 'failures' | 'tier' | 'request' | 'member_left' | null;
  /** Whose session disabled it; null: an API key, or no request did. */
  readonly disabled_user: Maker | null;
  /** Of the last 100 attempts. */
  readonly recent: WebhookRecent;
}

export interface WebhookRecent {
  readonly attempts: number;
  readonly succeeded: number;
  /** Milliseconds that 95 of 100 of them did not exceed; null: there was none. */
  readonly p95_ms: number | null;
}

export interface WebhookWithSecrets extends WebhookResource {
  readonly secret: string;
  /** The secret that `verifyWebhook` takes. Shown only here. */
  readonly signing_secret: string;
}

export interface EventDescription {
  readonly name: WebhookEvent;
  readonly description: string;
}

export type DeliveryStatus = 'pending' | 'succeeded' | 'failed' | 'dropped';

export type DeliveryError =
  | 'timeout'
  | 'dns_failure'
  | 'connection_failed'
  | 'tls_error'
  | 'blocked_address'
  | 'http_status'
  | 'redirect'
  | 'payload_too_large'
  | 'rate_limited'
  | 'webhook_disabled';

export interface DeliveryResource {
  readonly id: string;
  readonly event: WebhookEvent | 'webhook.test';
  /** Null for tests. */
  readonly seq: number | null;
  readonly status: DeliveryStatus;
  readonly response_code: number | null;
  readonly error: DeliveryError | null;
  readonly attempts: number;
  readonly duration_ms: number | null;
  readonly created_at: string;
  readonly last_attempt_at: string | null;
  readonly next_attempt_at: string | null;
}

export interface UserResource {
  readonly id: string;
  readonly email: string;
  readonly role: 'user' | 'admin';
  readonly records_count: number;
  readonly api_keys_count: number;
  readonly namespaces_count: number;
  readonly created_at: string;
  /** The active organization of the session; only on servers with organizations. */
  readonly organization?: ActiveOrganization;
}

export interface ActiveOrganization {
  readonly id: string;
  readonly name: string;
  readonly role: 'owner' | 'member';
}

export type TierName = 'free' | 'pro' | 'team' | 'enterprise';
