import { invalid } from '../../core/errors.ts';
import { Faults, Fields, isJsonObject, type JsonObject } from '../../core/input/fields.ts';
import { LIMITS } from '../../core/limits.ts';
import { parseRecordKey, type RecordKey } from '../../core/names/record-key.ts';
import { decodeBase64 } from '../../core/text/base64.ts';
import type { RecordPatch } from '../store/records/records.ts';

/** A new record, with every check that needs no database done. */
export interface NewRecord extends RecordKey {
  readonly data: Buffer;
  readonly contentType: string;
  readonly ttlSeconds: number;
  /** Milliseconds since the epoch; null: never. */
  readonly expiresAt: number | null;
}

const NEW_FIELDS = ['key', 'data', 'content_type', 'ttl_seconds', 'expires_in', 'expires_at'];
const PATCH_FIELDS = ['data', 'ttl_seconds', 'expires_in', 'expires_at'];
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

/** @throws AppError 422 with every fault */
export function parseNewRecord(body: JsonObject, context: RecordContext): NewRecord {
  const faults = new Faults();
  const record = readNewRecord(body, context, faults, '');
  if (record === null) throw invalid(...faults.messages);
  return record;
}

/** Adds every fault of a new record to `faults`. @param at as for `Fields` */
export function readNewRecord(
  body: unknown,
  { now, zoneLength }: RecordContext,
  faults: Faults,
  at: string,
): NewRecord | null {
  if (!isJsonObject(body)) {
    faults.add(`${at} must be an object`);
    return null;
  }
  const before = faults.messages.length;
  const fields = new Fields(body, NEW_FIELDS, faults, at);
  const key = readKey(fields, 'key', zoneLength);
  const data = readData(fields, fields.requiredText('data'));
  const contentType = readContentType(fields);
  const ttlSeconds = fields.integer('ttl_seconds', 0, LIMITS.ttlSecondsMax);
  const expiresAt = readExpiry(fields, now);
  if (faults.messages.length > before || key === undefined || data === undefined) return null;
  return {
    ...key,
    data,
    contentType: contentType ?? CONTENT_TYPE_DEFAULT,
    ttlSeconds: ttlSeconds ?? LIMITS.ttlSecondsDefault,
    expiresAt: expiresAt ?? null,
  };
}

/** Only the given fields. @throws AppError 422 with every fault */
export function parseRecordPatch(body: JsonObject, now: number): RecordPatch {
  const faults = new Faults();
  const fields = new Fields(body, PATCH_FIELDS, faults);
  const data = readData(fields, fields.text('data'));
  const ttlSeconds = fields.integer('ttl_seconds', 0, LIMITS.ttlSecondsMax);
  const expiresAt = readExpiry(fields, now);
  if (Object.keys(body).length === 0) faults.add(`record must have one of ${PATCH_FIELDS.join(', ')}`);
  if (faults.any) throw invalid(...faults.messages);
  return {
    ...(data !== undefined && { data }),
    ...(ttlSeconds !== undefined && { ttl_seconds: ttlSeconds }),
    ...(expiresAt !== undefined && { expires_at: expiresAt }),
  };
}

function readKey(fields: Fields, name: string, zoneLength: number): RecordKey | undefined {
  const text = fields.requiredText(name);
  if (text === undefined) return undefined;
  const key = parseRecordKey(text, zoneLength);
  if (typeof key !== 'string') return key;
  // The message begins with the field's name or its path in a list.
  fields.fault(name, key.replace(/^key /, ''));
  return undefined;
}

function readData(fields: Fields, text: string | undefined): Buffer | undefined {
  if (text === undefined) return undefined;
  // Length first: do not decode what cannot be stored.
  if (text.length > DATA_TEXT_MAX) fields.fault('data', `is longer than ${LIMITS.recordData} bytes`);
  else {
    const bytes = decodeBase64(text);
    if (bytes !== null) return bytes;
    fields.fault('data', 'is not strict Base64');
  }
  return undefined;
}

function readContentType(fields: Fields): string | undefined {
  const text = fields.text('content_type');
  if (text === undefined) return undefined;
  if (text.length > LIMITS.contentType) {
    fields.fault('content_type', `must have at most ${LIMITS.contentType} characters`);
  } else if (!MEDIA_TYPE.test(text)) fields.fault('content_type', 'is not a media type');
  else return text;
  return undefined;
}

/** Null: never (`expires_in` 0 or `expires_at` null). Undefined: absent or faulty. */
function readExpiry(fields: Fields, now: number): number | null | undefined {
  if (fields.has('expires_in') && fields.has('expires_at')) {
    fields.fault('expires_in', 'and expires_at must not be given together');
    return undefined;
  }
  if (fields.has('expires_in')) {
    const longest = Math.floor((LIMITS.expiresAtMax - now) / 1000);
    const seconds = fields.integer('expires_in', 0, longest);
    if (seconds === undefined) return undefined;
    return seconds === 0 ? null : now + seconds * 1000;
  }
  if (fields.isNull('expires_at')) return null;
  return fields.futureTime('expires_at', now);
}
