import type { ApiOperation, WebhookEvent } from './resources.ts';

/** What the API takes, field for field. */

export interface NewRecord {
  readonly key: string;
  /** Strict Base64. */
  readonly data: string;
  readonly content_type?: string | undefined;
  /** How DNS answers carry the data. `plain` takes UTF-8 without control characters. `b64` unless given. */
  readonly encoding?: 'b64' | 'plain' | undefined;
  readonly ttl_seconds?: number | undefined;
  /** Seconds from now; 0: never. Not together with `expires_at`. */
  readonly expires_in?: number | undefined;
  /** ISO 8601; null: never. */
  readonly expires_at?: string | null | undefined;
}

/** Of an item of a bulk write: when it does not hold, nothing is written (412). */
export interface BulkCondition {
  /** `updated_at` that the record has now; null: there must be no such record. */
  readonly if_updated_at?: string | null | undefined;
}

export interface NewBulkRecord extends NewRecord, BulkCondition {}

export interface BulkDeletion {
  readonly key: string;
  readonly if_updated_at: string | null;
}

export interface RecordPatch {
  readonly data?: string | undefined;
  /** As it is unless given. */
  readonly encoding?: 'b64' | 'plain' | undefined;
  readonly ttl_seconds?: number | undefined;
  readonly expires_in?: number | undefined;
  readonly expires_at?: string | null | undefined;
}

export interface RecordFilter {
  readonly namespace?: string | undefined;
  readonly resource?: string | undefined;
  readonly key?: string | undefined;
  readonly key_prefix?: string | undefined;
  readonly ttl_min?: number | undefined;
  readonly ttl_max?: number | undefined;
  readonly created_after?: string | Date | undefined;
  readonly created_before?: string | Date | undefined;
  /** Begin of a key; when nothing begins so, a resource label; else a namespace. `matchedBy` of a page says which. */
  readonly q?: string | undefined;
  /** The order, across namespaces. A minus: descending. */
  readonly sort?: 'key' | '-key' | 'updated_at' | '-updated_at' | undefined;
}

export interface NamespacePatch {
  /** 1 to 86,400 seconds. Caches may show an old value of an open namespace for so long. */
  readonly max_ttl?: number | undefined;
  /** Keeps replaced and deleted values as versions; null ends it, and erases them. Only for owners with a customer token. */
  readonly history?: { readonly versions: number; readonly days: number } | null | undefined;
}

export interface NewQueryToken {
  readonly name: string;
  /** 1 to 365. Default 30. */
  readonly expires_in_days?: number | undefined;
  /** True: it ends with the session of the request, and replaces that session's token for the namespace. Without `expires_in_days`. */
  readonly session?: boolean | undefined;
}

export interface NewApiKey {
  readonly name: string;
  readonly scopes?:
    | { readonly operations?: readonly ApiOperation[]; readonly namespaces?: readonly string[] }
    | undefined;
  readonly expires_at?: string | null | undefined;
}

export interface WebhookScopes {
  /** Empty: all namespaces. */
  readonly namespaces?: readonly string[];
}

export interface NewWebhook {
  readonly name: string;
  readonly url: string;
  readonly events: readonly WebhookEvent[];
  readonly scopes?: WebhookScopes | undefined;
}

export interface WebhookPatch {
  readonly name?: string | undefined;
  readonly url?: string | undefined;
  readonly events?: readonly WebhookEvent[] | undefined;
  readonly scopes?: { readonly namespaces: readonly string[] } | undefined;
  readonly enabled?: boolean | undefined;
}
