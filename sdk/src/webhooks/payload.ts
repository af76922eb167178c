/** The bodies of webhooks (docs/WEBHOOKS.md). */

/** The record at the time of the event. It may have changed since. */
export interface RecordUpserted {
  /** `[<params>.]<resource>.<namespace>.<version>`, lower case. */
  readonly key: string;
  readonly namespace: string;
  readonly resource: string;
  /** `v` and a number: `v1`. */
  readonly version: string;
  /** Media type. */
  readonly content_type: string;
  readonly ttl_seconds: number;
  /** Base64, padded. Null: the record was deleted, or had expired, before this event could be queued. */
  readonly data: string | null;
}

export interface RecordDeleted {
  readonly key: string;
  readonly namespace: string;
}

export interface NamespaceUpserted {
  readonly id: string;
  readonly name: string;
  readonly records_count: number;
  /** Seconds: the longest TTL of an answer while everyone may read the namespace. Missing in events of servers before 0.2. */
  readonly max_ttl?: number;
  /** ISO 8601 in UTC. */
  readonly created_at: string;
  readonly updated_at: string;
  /** Only while the namespace keeps history: of a record, versions and their days after their end at most, and since when (ISO 8601 in UTC). */
  readonly history?: { readonly versions: number; readonly days: number; readonly since: string };
  /** Only while everyone may read the namespace over DNS. */
  readonly public_read?: true;
  /** Only while the operator has suspended the namespace. */
  readonly suspended?: true;
}

export interface NamespaceDeleted {
  readonly namespace: string;
}

export interface WebhookTest {
  readonly message: string;
  readonly webhook_id: string;
  readonly webhook_name: string;
}

interface Event<Name extends string, Data> {
  readonly event: Name;
  /** Ascends from event to event of the account, with gaps. */
  readonly seq: number;
  /** ISO 8601 in UTC: when the event happened, not when it was sent. */
  readonly created_at: string;
  readonly data: Data;
}

/** The body of a request. `event` is the discriminant. Later versions of the service may add fields. */
export type WebhookPayload =
  | Event<'record.upserted', RecordUpserted>
  | Event<'record.deleted', RecordDeleted>
  | Event<'namespace.upserted', NamespaceUpserted>
  | Event<'namespace.deleted', NamespaceDeleted>
  | {
      readonly event: 'webhook.test';
      /** ISO 8601 in UTC. */
      readonly timestamp: string;
      readonly data: WebhookTest;
    };
