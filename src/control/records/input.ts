import { LIMITS } from '../../base/limits.ts';
import { BASE64, decodeBase64 } from '../../base/text/base64.ts';
import { type Faults, type Fields, isJsonObject, type JsonObject } from '../../protocol/input/fields.ts';
import { FUTURE_TIME_OR_NULL, integerOf } from '../../protocol/input/readers.ts';
import { optional, type Parsed, type Reader, required, shape } from '../../protocol/input/shape.ts';
import { parseRecordKey, RECORD_KEY_SCHEMA, type RecordKey } from '../../protocol/names/record-key.ts';
import type { RecordPatch } from '../../store/records/records.ts';

/** A new record, with every check that needs no database done. */
export interface NewRecord extends RecordKey {
  readonly data: Buffer;
  readonly contentType: string;
  readonly ttlSeconds: number;
  /** Milliseconds since the epoch; null: never. */
  readonly expiresAt: number | null;
}

const CONTENT_TYPE_DEFAULT = 'application/octet-stream';

/** Base64 letters of the longest payload. */
const DATA_TEXT_MAX = Math.ceil(LIMITS.recordData / 3) * 4;

/** `type/subtype` and parameters (RFC 9110 §8.3.1). */
const TOKEN = "[!#$%&'*+.^_`|~0-9A-Za-z-]+";
const MEDIA_TYPE = new RegExp(
  `^${TOKEN}/${TOKEN}(?:[ \\t]*;[ \\t]*${TOKEN}=(?:${TOKEN}|"[ !#-\\[\\]-~]*"))*$`,
);

/** A record must be queryable under the longest zone. */
export interface RecordContext {
  /** Milliseconds since the epoch. */
  readonly now: number;
  readonly zoneLength: number;
}

type HasNow = Pick<RecordContext, 'now'>;

const KEY: Reader<RecordKey, RecordContext> = {
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

const DATA: Reader<Buffer> = {
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
      const bytes = decodeBase64(text);
      if (bytes !== null) return bytes;
      fields.fault(name, 'is not strict Base64');
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
const ONE_EXPIRY = { not: { required: ['expires_in', 'expires_at'] } };

const NEW_RECORD_FIELDS = {
  key: required(KEY),
  data: required(DATA),
  content_type: optional(CONTENT_TYPE),
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
  { data: optional(DATA), ttl_seconds: optional(TTL_SECONDS), ...EXPIRY },
  { rules: ONE_EXPIRY, atLeastOneOf: 'record', fixed: FIXED },
);

/** @throws AppError 422 with every fault */
export function parseNewRecord(body: JsonObject, context: RecordContext): NewRecord {
  return newRecord(NEW_RECORD.parse(body, context));
}

/** Adds every fault of a new record to `faults`. @param at as for `Fields` */
export function readNewRecord(
  body: unknown,
  context: RecordContext,
  faults: Faults,
  at: string,
): NewRecord | null {
  if (!isJsonObject(body)) {
    faults.add(`${at} must be an object`);
    return null;
  }
  const values = NEW_RECORD.readWhole(body, context, faults, at);
  return values && newRecord(values);
}

function newRecord(values: Parsed<typeof NEW_RECORD_FIELDS>): NewRecord {
  return {
    ...values.key,
    data: values.data,
    contentType: values.content_type ?? CONTENT_TYPE_DEFAULT,
    ttlSeconds: values.ttl_seconds ?? LIMITS.ttlSecondsDefault,
    expiresAt: values.expires_in ?? values.expires_at ?? null,
  };
}

/** Only the given fields. @throws AppError 422 with every fault */
export function parseRecordPatch(body: JsonObject, now: number): RecordPatch {
  const { data, ttl_seconds, expires_in, expires_at } = RECORD_PATCH.parse(body, { now });
  const expiresAt = expires_in === undefined ? expires_at : expires_in;
  return {
    ...(data !== undefined && { data }),
    ...(ttl_seconds !== undefined && { ttl_seconds }),
    ...(expiresAt !== undefined && { expires_at: expiresAt }),
  };
}
