import { formatTime, formatTimeOrNull } from '../../base/text/time.ts';
import type { JsonObject } from '../../protocol/input/fields.ts';
import { resourceSchema, TIME, TIME_OR_NULL, UUID } from '../../protocol/input/schema.ts';
import { base64, type NewChange } from '../../store/log/change-log.ts';
import type { RecordsTable } from '../../store/schema.ts';
import type { Actor } from '../accounts/actor.ts';

export interface RecordResource {
  readonly id: string;
  readonly key: string;
  readonly resource: string;
  readonly namespace: string;
  readonly version: string;
  readonly data: string;
  readonly content_type: string;
  readonly ttl_seconds: number;
  readonly expires_at: string | null;
  readonly created_at: string;
  readonly updated_at: string;
}

const BARE_RECORD = {
  id: UUID,
  key: { type: 'string', description: 'In lower case', examples: ['greeting.acme.v1'] },
  resource: { type: 'string', description: 'Resource label of the key', examples: ['greeting'] },
  namespace: { type: 'string', description: 'Namespace of the key', examples: ['acme'] },
  version: { type: 'string', description: 'Last label of the key', examples: ['v1'] },
  content_type: { type: 'string', examples: ['text/plain'] },
  ttl_seconds: {
    type: 'integer',
    description: 'Hint in the envelope; neither the TTL of the DNS record nor the storage lifetime',
    examples: [300],
  },
  expires_at: { ...TIME_OR_NULL, description: 'When the record is erased; null: never' },
  created_at: TIME,
  updated_at: TIME,
} as const;

const DATA = { type: 'string', contentEncoding: 'base64', examples: ['aGVsbG8='] } as const;

export const RECORD_SCHEMA = resourceSchema<RecordResource>('Record', { ...BARE_RECORD, data: DATA });

export const SHOWN_RECORD_SCHEMA = resourceSchema<ShownRecord>(
  'WrittenRecord',
  { ...BARE_RECORD, data: { ...DATA, description: 'Not for an API key that lacks `read`' } },
  { data: true },
);

export function recordResource(row: RecordsTable, namespace: string): RecordResource {
  return {
    id: row.id,
    key: row.key,
    resource: row.resource,
    namespace,
    version: row.version,
    data: base64(row.data) ?? '',
    content_type: row.content_type,
    ttl_seconds: row.ttl_seconds,
    expires_at: formatTimeOrNull(row.expires_at),
    created_at: formatTime(row.created_at),
    updated_at: formatTime(row.updated_at),
  };
}

/** Without `data` for a key that lacks `read`. */
export type ShownRecord = BareRecord & Partial<Pick<RecordResource, 'data'>>;

export type BareRecord = Omit<RecordResource, 'data'>;

export function bareRecord(row: RecordsTable, namespace: string): BareRecord {
  const { data: _, ...bare } = recordResource(row, namespace);
  return bare;
}

/** The answer to a create. @param sent its `data` is strict Base64 with one spelling, so it equals the stored data */
export function withSentData(actor: Actor, record: BareRecord, sent: JsonObject): ShownRecord {
  if (!actor.operations.has('read')) return record;
  const { id, key, resource, namespace, version, ...rest } = record;
  return { id, key, resource, namespace, version, data: sent.data as string, ...rest };
}

/** `write` does not imply `read`. */
export function shownTo(actor: Actor, row: RecordsTable, namespace: string): ShownRecord {
  const resource = recordResource(row, namespace);
  return actor.operations.has('read') ? resource : bareRecord(row, namespace);
}

/** A strong tag. Every write increases `updated_at` by a millisecond or more. @param updatedAt ms since the epoch */
export function recordTag(updatedAt: number): string {
  return `"${updatedAt.toString(36)}"`;
}

export function upsertedChange(row: RecordsTable, namespace: string, owner: string): NewChange {
  return {
    type: 'record.upserted',
    owner,
    cause: 'direct',
    key: row.key,
    namespace,
    resource: row.resource,
    version: row.version,
    data: base64(row.data),
    contentType: row.content_type,
    ttlSeconds: row.ttl_seconds,
    expiresAt: row.expires_at,
  };
}

export function deletedChange(
  key: string,
  namespace: string,
  owner: string,
  cause: NewChange['cause'],
): NewChange {
  return { type: 'record.deleted', owner, cause, key, namespace };
}
