import { invalid } from '../../base/errors.ts';
import { LIMITS } from '../../base/limits.ts';
import { formatTime, formatTimeOrNull } from '../../base/time.ts';
import type { Actor } from '../../http/actor.ts';
import { BASE64 } from '../../protocol/encodings.ts';
import type { Fields, JsonObject } from '../../protocol/input/fields.ts';
import { resourceSchema, TIME, TIME_OR_NULL, UUID } from '../../protocol/input/schema.ts';
import {
  FUTURE_TIME_OR_NULL,
  integerOf,
  optional,
  type Parsed,
  type Reader,
  required,
  shape,
} from '../../protocol/input/shape.ts';
import { parseRecordKey, RECORD_KEY_SCHEMA, type RecordKey } from '../../protocol/names/record-key.ts';
import { isPlainText, MEDIA_TYPE } from '../../protocol/query/envelope.ts';
import { base64, type NewChange } from '../../store/log/change-log.ts';
import type { RecordPatch, RecordsTable } from '../../store/records.ts';

export type RecordResource = ReturnType<typeof recordResource>;

/** The member `encoding` of records, exports and versions. */
export const PLAIN = {
  const: 'plain',
  description: 'Only where DNS answers carry the data as plain text, and not in Base64',
} as const;

const BARE_RECORD = {
  id: UUID,
  key: { type: 'string', description: 'In lower case', examples: ['greeting.acme.v1'] },
  resource: { type: 'string', description: 'Resource label of the key', examples: ['greeting'] },
  namespace: { type: 'string', description: 'Namespace of the key', examples: ['acme'] },
  version: { type: 'string', description: 'Last label of the key', examples: ['v1'] },
  content_type: { type: 'string', examples: ['text/plain'] },
  encoding: PLAIN,
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

export const RECORD_SCHEMA = resourceSchema<RecordResource>(
  'Record',
  { ...BARE_RECORD, data: DATA },
  { encoding: true },
);

export const SHOWN_RECORD_SCHEMA = resourceSchema<ShownRecord>(
  'WrittenRecord',
  { ...BARE_RECORD, data: { ...DATA, description: 'Not for an API key that lacks `read`' } },
  { data: true, encoding: true },
);

export function recordResource(row: RecordsTable, namespace: string) {
  return {
    id: row.id,
    key: row.key,
    resource: row.resource,
    namespace,
    version: row.version,
    data: base64(row.data) ?? '',
    content_type: row.content_type,
    ...encodingOf(row),
    ttl_seconds: row.ttl_seconds,
    expires_at: formatTimeOrNull(row.expires_at),
    created_at: formatTime(row.created_at),
    updated_at: formatTime(row.updated_at),
  };
}

export function encodingOf({ encoding }: Pick<RecordsTable, 'encoding'>): { readonly encoding?: 'plain' } {
  return encoding === null ? {} : { encoding };
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
    ...encodingOf(row),
    updatedAt: row.updated_at,
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

/** A new record, with every check that needs no database done: columns of its row, and its namespace. */
export type NewRecord = ReturnType<typeof newRecord>;

const CONTENT_TYPE_DEFAULT = 'application/octet-stream';

/** Base64 letters of the longest payload. */
const DATA_TEXT_MAX = Math.ceil(LIMITS.recordData / 3) * 4;

/** A record must be queryable under the longest zone. */
export interface RecordContext {
  /** Milliseconds since the epoch. */
  readonly now: number;
  readonly zoneLength: number;
}

type HasNow = Pick<RecordContext, 'now'>;

export const RECORD_KEY: Reader<RecordKey, RecordContext> = {
  schema: RECORD_KEY_SCHEMA,
  read(fields, name, { zoneLength }) {
    const text = fields.text(name);
    if (text === undefined) return undefined;
    const key = parseRecordKey(text, zoneLength);
    if (typeof key !== 'string') return key;
    // The message begins with the field's name or its path in a list.
    fields.fault(name, key.replace(/^key /, ''));
    return undefined;
  },
};

const NOT_PLAIN = 'has octets that plain text cannot have';

/** @throws AppError 422 for data that no record of this encoding may have */
export function requirePlain({ data, encoding }: Pick<RecordsTable, 'data' | 'encoding'>): void {
  if (encoding === 'plain' && !isPlainText(data)) throw invalid(`data ${NOT_PLAIN}`);
}

const NEW_DATA: Reader<Buffer> = {
  schema: {
    type: 'string',
    contentEncoding: 'base64',
    pattern: BASE64.source,
    maxLength: DATA_TEXT_MAX,
    description: `Strict Base64: padded, without white space. At most ${LIMITS.recordData} octets decoded`,
    examples: ['aGVsbG8='],
  },
  read(fields, name) {
    const text = fields.text(name);
    if (text === undefined) return undefined;
    // Length first: do not decode what cannot be stored.
    if (text.length > DATA_TEXT_MAX) fields.fault(name, `is longer than ${LIMITS.recordData} bytes`);
    else {
      // A bulk write has 500 of them: Buffer decodes faster than decodeBase64.
      if (!BASE64.test(text)) fields.fault(name, 'is not strict Base64');
      else {
        const data = Buffer.from(text, 'base64');
        if (!fields.is('encoding', 'plain') || isPlainText(data)) return data;
        fields.fault(name, NOT_PLAIN);
      }
    }
    return undefined;
  },
};

const CONTENT_TYPE: Reader<string> = {
  schema: {
    type: 'string',
    pattern: MEDIA_TYPE.source,
    maxLength: LIMITS.contentType,
    description: `A media type. \`${CONTENT_TYPE_DEFAULT}\` unless given`,
    examples: ['text/plain'],
  },
  read(fields, name) {
    const text = fields.text(name);
    if (text === undefined) return undefined;
    if (text.length > LIMITS.contentType) {
      fields.fault(name, `must have at most ${LIMITS.contentType} characters`);
    } else if (!MEDIA_TYPE.test(text)) fields.fault(name, 'is not a media type');
    else return text;
    return undefined;
  },
};

const ENCODING_ABOUT =
  'How DNS answers carry the data; in REST it is Base64. `plain` takes UTF-8 without U+0000 to U+001F and U+007F to U+009F.';

/** Reads null for Base64. */
const ENCODING: Reader<'plain' | null> = {
  schema: {
    type: 'string',
    enum: ['b64', 'plain'],
    description: `${ENCODING_ABOUT} \`b64\` unless given`,
  },
  read(fields, name) {
    const text = fields.text(name);
    if (text === undefined) return undefined;
    if (text === 'plain') return text;
    if (text === 'b64') return null;
    fields.fault(name, 'must be b64 or plain');
    return undefined;
  },
};

const TTL_ABOUT = 'Hint in the envelope; neither the TTL of the DNS record nor the storage lifetime';
const TTL_SECONDS = integerOf(0, LIMITS.ttlSecondsMax, { description: TTL_ABOUT, examples: [300] });

/** Seconds from now. Reads milliseconds since the epoch, or null: never. */
const EXPIRES_IN: Reader<number | null, HasNow> = {
  schema: {
    type: 'integer',
    minimum: 0,
    maximum: Math.floor(LIMITS.expiresAtMax / 1000),
    description:
      'Storage lifetime in seconds from now, which must end before the year 10000. 0: never expires',
  },
  read(fields, name, { now }) {
    if (hasBothExpiries(fields)) {
      fields.fault(name, 'and expires_at must not be given together');
      return undefined;
    }
    const longest = Math.floor((LIMITS.expiresAtMax - now) / 1000);
    const seconds = fields.integer(name, 0, longest);
    if (seconds === undefined) return undefined;
    return seconds === 0 ? null : now + seconds * 1000;
  },
};

const EXPIRES_AT: Reader<number | null, HasNow> = {
  schema: FUTURE_TIME_OR_NULL.schema,
  read: (fields, name, context) =>
    hasBothExpiries(fields) ? undefined : FUTURE_TIME_OR_NULL.read(fields, name, context),
};

function hasBothExpiries(fields: Fields): boolean {
  return fields.has('expires_in') && fields.has('expires_at');
}

const EXPIRY = { expires_in: optional(EXPIRES_IN), expires_at: optional(EXPIRES_AT) };
export const ONE_EXPIRY = { not: { required: ['expires_in', 'expires_at'] } };

export const NEW_RECORD_FIELDS = {
  key: required(RECORD_KEY),
  data: required(NEW_DATA),
  content_type: optional(CONTENT_TYPE),
  encoding: optional(ENCODING),
  ttl_seconds: optional({
    ...TTL_SECONDS,
    // No `default`: generators of clients take a field that has one for a required one.
    schema: { ...TTL_SECONDS.schema, description: `${TTL_ABOUT}. ${LIMITS.ttlSecondsDefault} unless given` },
  }),
  ...EXPIRY,
};

export const NEW_RECORD = shape('NewRecord', NEW_RECORD_FIELDS, { rules: ONE_EXPIRY });

const FIXED = ['id', 'key', 'resource', 'namespace', 'version', 'content_type', 'created_at', 'updated_at'];

export const RECORD_PATCH = shape(
  'RecordPatch',
  {
    data: optional(NEW_DATA),
    encoding: optional({
      ...ENCODING,
      schema: { ...ENCODING.schema, description: `${ENCODING_ABOUT} As it is unless given` },
    }),
    ttl_seconds: optional(TTL_SECONDS),
    ...EXPIRY,
  },
  { rules: ONE_EXPIRY, atLeastOneOf: 'record', fixed: FIXED },
);

/** @throws AppError 422 with every fault */
export function parseNewRecord(body: JsonObject, context: RecordContext): NewRecord {
  return newRecord(NEW_RECORD.parse(body, context));
}

export function newRecord(values: Parsed<typeof NEW_RECORD_FIELDS>) {
  return {
    ...values.key,
    data: values.data,
    content_type: values.content_type ?? CONTENT_TYPE_DEFAULT,
    encoding: values.encoding ?? null,
    ttl_seconds: values.ttl_seconds ?? LIMITS.ttlSecondsDefault,
    expires_at: values.expires_in ?? values.expires_at ?? null,
  };
}

/** Only the given fields. @throws AppError 422 with every fault */
export function parseRecordPatch(body: JsonObject, now: number): RecordPatch {
  const { data, encoding, ttl_seconds, expires_in, expires_at } = RECORD_PATCH.parse(body, { now });
  const expiresAt = expires_in === undefined ? expires_at : expires_in;
  return {
    ...(data !== undefined && { data }),
    ...(encoding !== undefined && { encoding }),
    ...(ttl_seconds !== undefined && { ttl_seconds }),
    ...(expiresAt !== undefined && { expires_at: expiresAt }),
  };
}
