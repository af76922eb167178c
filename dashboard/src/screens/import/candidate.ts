/** One row of a file that is to be imported, before and after it is checked. */
import { bytesOf, type NewRecord } from '../../../../sdk/src/uqrp-sdk.ts';
import { BASE64 } from '../../../../src/protocol/encodings.ts';
import { foldCase } from '../../../../src/protocol/names/labels.ts';
import { isPlainText } from '../../../../src/protocol/query/envelope.ts';
import {
  base64Octets,
  contentTypeFault,
  type FaultReason,
  keyFault,
  keyParts,
  type RecordLimits,
} from '../records/record-rules.ts';

/** The text of each stands in `import.refused`. */
export type RefusalReason =
  | FaultReason
  | 'not_object'
  | 'unknown_field'
  | 'field_type'
  | 'no_key'
  | 'no_data'
  | 'twice'
  | 'namespace'
  | 'line_long'
  | 'syntax'
  | 'columns';

/** What a parser found in one row: a record, or why there is none. */
export type Row =
  | { readonly line: number; readonly record: NewRecord; readonly refusal: null }
  | { readonly line: number; readonly record: null; readonly refusal: RefusalReason; readonly key: string };

export function refused(line: number, refusal: RefusalReason, key = ''): Row {
  return { line, record: null, refusal, key };
}

const FIELDS: ReadonlySet<string> = new Set([
  'key',
  'data',
  'content_type',
  'encoding',
  'ttl_seconds',
  'expires_in',
  'expires_at',
]);
/** RFC 3339, and the shorter forms of ISO 8601 that the API takes. */
const TIME = /^\d{4}-\d\d-\d\d(?:T\d\d:\d\d(?::\d\d(?:\.\d+)?)?(?:Z|[+-]\d\d:?\d\d))?$/i;

/** A parsed value as a record of the API's form. Nothing is coerced. */
export function rowOf(line: number, value: unknown): Row {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return refused(line, 'not_object');
  const fields = value as Readonly<Record<string, unknown>>;
  const key = typeof fields.key === 'string' ? fields.key : '';
  if (Object.keys(fields).some((name) => !FIELDS.has(name))) return refused(line, 'unknown_field', key);
  if (fields.key === undefined) return refused(line, 'no_key');
  if (fields.data === undefined) return refused(line, 'no_data', key);
  const isOfType =
    typeof fields.key === 'string' &&
    typeof fields.data === 'string' &&
    is('string', fields.content_type) &&
    [undefined, 'b64', 'plain'].includes(fields.encoding as undefined) &&
    is('number', fields.ttl_seconds) &&
    is('number', fields.expires_in) &&
    (fields.expires_at === null || is('string', fields.expires_at));
  if (!isOfType) return refused(line, 'field_type', key);
  return { line, record: fields as unknown as NewRecord, refusal: null };
}

function is(type: 'string' | 'number', value: unknown): boolean {
  return value === undefined || typeof value === type;
}

export interface CheckContext {
  readonly limits: RecordLimits;
  /** Names of the namespaces that can be written. */
  readonly namespaces: ReadonlySet<string>;
  /** Milliseconds since the epoch. */
  readonly now: number;
}

/** The rows with those refused that the server would refuse. A key that occurs twice is refused the second time. */
export function checkedRows(rows: readonly Row[], context: CheckContext): readonly Row[] {
  const seen = new Set<string>();
  return rows.map((row) => {
    if (row.record === null) return row;
    const key = foldCase(row.record.key);
    const refusal = refusalOf(row.record, context) ?? (seen.has(key) ? 'twice' : null);
    seen.add(key);
    return refusal === null
      ? { ...row, record: { ...row.record, key } }
      : refused(row.line, refusal, row.record.key);
  });
}

function refusalOf(record: NewRecord, { limits, namespaces, now }: CheckContext): RefusalReason | null {
  const { key, data, content_type, encoding, ttl_seconds, expires_in, expires_at } = record;
  const fault = keyFault(key, limits.key);
  if (fault !== null) return fault;
  if (!namespaces.has(foldCase(keyParts(key).namespace))) return 'namespace';
  if (!BASE64.test(data)) return 'data_base64';
  if (base64Octets(data) > limits.data) return 'data_long';
  if (encoding === 'plain' && !isPlainText(bytesOf({ data }))) return 'data_plain';
  const type = content_type === undefined ? null : contentTypeFault(content_type, limits.contentType);
  if (type !== null) return type;
  if (ttl_seconds !== undefined && !isWhole(ttl_seconds, limits.ttl)) return 'ttl_range';
  if (expires_in !== undefined && expires_at !== undefined) return 'expiry_both';
  if (expires_in !== undefined && !isWhole(expires_in, 253_402_300_799 - now / 1000)) return 'expiry_form';
  if (typeof expires_at !== 'string') return null;
  if (!TIME.test(expires_at) || Number.isNaN(Date.parse(expires_at))) return 'expiry_form';
  return Date.parse(expires_at) <= now ? 'expiry_past' : null;
}

function isWhole(value: number, most: number): boolean {
  return Number.isSafeInteger(value) && value >= 0 && value <= most;
}
