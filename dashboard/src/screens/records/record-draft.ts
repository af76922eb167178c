import { bytesOf, type TaggedRecord } from '../../../../sdk/src/uqrp-sdk.ts';
import { decodeBase64, encodeBase64 } from '../../../../src/protocol/encodings.ts';
import { isPlainText } from '../../../../src/protocol/query/envelope.ts';
import { formatted, isJson } from './json-text.ts';
import { parsedJson, utf8 } from './payload.ts';
import { contentTypeFault, type Fault, keyFault, type RecordLimits } from './record-rules.ts';
import type { Editable } from './three-way.ts';

/** How the data of a record is typed in. */
export type DataMode = TextMode | 'file';
type TextMode = 'text' | 'json' | 'base64';
/** A lifetime is never given in two ways at once. */
export type ExpiryMode = 'never' | 'in' | 'at';
export type TimeUnit = 'minutes' | 'hours' | 'days';

/** What the form holds, as typed. */
export interface Draft {
  readonly key: string;
  /** The record that the form began with: what others change after it is theirs, also when the draft is restored later. Null: there is none. */
  readonly base: TaggedRecord | null;
  /** Of `text`. */
  readonly mode: TextMode;
  readonly text: string;
  /** A file is chosen, or is to be: until then the data are those of `text`. */
  readonly isFile: boolean;
  readonly file: { readonly name: string; readonly octets: Uint8Array<ArrayBuffer> } | null;
  readonly contentType: string;
  readonly encoding: 'b64' | 'plain';
  readonly ttl: string;
  readonly expiry: ExpiryMode;
  readonly amount: string;
  readonly unit: TimeUnit;
  /** As `<input type="datetime-local">` has it: local time without a zone. */
  readonly at: string;
  /** What completes a key that names none; empty: nothing does. */
  readonly namespace: string;
  /** ISO 8601, as stored. It is kept while `at` shows it: the repeated hour of autumn has two meanings in local time. */
  readonly storedAt: string | null;
  /** All lines of the data end with CRLF. A text area turns them into LF. */
  readonly isCrlf: boolean;
  /** Encrypts the data when the record is saved; null: they are saved as they are. */
  readonly seal: ((key: string, read: ReadDraft) => Promise<ReadDraft>) | null;
}

/** What a draft means, or what is wrong with it. */
export interface ReadDraft {
  readonly faults: readonly Fault[];
  readonly octets: Uint8Array<ArrayBuffer>;
  readonly fields: Editable;
}

const SECONDS: Readonly<Record<TimeUnit, number>> = { minutes: 60, hours: 3600, days: 86_400 };
const LONGEST_IN_S = 253_402_300_799;
/** Types of a mode whose name says enough. */
const TYPES: Readonly<Record<DataMode, string>> = {
  text: 'text/plain',
  json: 'application/json',
  file: 'application/octet-stream',
  base64: 'application/octet-stream',
};

/** @param namespace what completes a key that names none; empty: nothing does */
export function newDraft(namespace: string, ttl: number): Draft {
  return {
    ...NEVER,
    key: '',
    namespace,
    mode: 'text',
    text: '',
    contentType: TYPES.text,
    ttl: String(ttl),
  };
}

/** `sku-1.price` in the namespace acme is `sku-1.price.acme.v1`. A key with a version stays as it is. */
export function withWholeKey(draft: Draft): Draft {
  const { key, namespace } = draft;
  if (namespace === '' || key === '' || key.endsWith('.') || /\.v\d+$/i.test(key)) return draft;
  return {
    ...draft,
    key: key.toLowerCase().endsWith(`.${namespace}`) ? `${key}.v1` : `${key}.${namespace}.v1`,
  };
}

const NEVER = {
  base: null,
  isFile: false,
  file: null,
  namespace: '',
  encoding: 'b64',
  expiry: 'never',
  amount: '1',
  unit: 'hours',
  at: '',
  storedAt: null,
  isCrlf: false,
  seal: null,
} as const;

export interface StoredRecord extends Editable {
  readonly key: string;
}

/** A draft that saves the record as it is. */
export function draftOf(record: StoredRecord): Draft {
  const octets = bytesOf(record);
  const text = utf8(octets);
  const isDocument = text !== null && parsedJson(text) !== undefined && /json/.test(record.content_type);
  const lines = text === null ? null : linesOf(text);
  const mode: TextMode = lines === null ? 'base64' : isDocument ? 'json' : 'text';
  const { expires_at } = record;
  return {
    key: record.key,
    mode,
    text: lines?.text ?? record.data,
    contentType: record.content_type,
    ttl: String(record.ttl_seconds),
    ...NEVER,
    encoding: record.encoding,
    ...(expires_at !== null && { expiry: 'at', at: localTime(new Date(expires_at)), storedAt: expires_at }),
    isCrlf: lines?.isCrlf ?? false,
  };
}

/** The text as a text area has it. Null where that would lose the ends of lines: they are of several kinds. */
function linesOf(text: string): { readonly text: string; readonly isCrlf: boolean } | null {
  if (!text.includes('\r')) return { text, isCrlf: false };
  return /(?<!\r)\n|\r(?!\n)/.test(text) ? null : { text: text.replaceAll('\r\n', '\n'), isCrlf: true };
}

/** Why a value has no text in a mode. */
export type ModeRefusal = 'data_base64' | 'data_no_text';

/**
 * The same octets in another mode; the type follows unless somebody chose one. A file that is no text gives way to what was typed before it.
 * @returns why the mode cannot show them: nothing is lost by a look at it
 */
export function withMode(draft: Draft, mode: DataMode): Draft | ModeRefusal {
  if (mode === 'file') return { ...draft, isFile: true };
  const typed: Draft = { ...draft, isFile: false, file: null };
  const octets = octetsOf(draft);
  const shown = octets === null ? null : textIn(mode, octets);
  if (mode === draft.mode && (draft.file === null || shown === null)) return typed;
  if (octets === null) return 'data_base64';
  if (shown === null) return 'data_no_text';
  const contentType = Object.values(TYPES).includes(draft.contentType) ? TYPES[mode] : draft.contentType;
  return { ...typed, ...shown, mode, contentType };
}

/** Null where there is none from which the same octets would be saved. */
function textIn(mode: TextMode, octets: Uint8Array): Pick<Draft, 'text' | 'isCrlf'> | null {
  if (mode === 'base64') return { text: encodeBase64(octets), isCrlf: false };
  const whole = utf8(octets);
  const lines = whole === null ? null : linesOf(whole);
  return lines !== null && mode === 'json' ? { ...lines, text: formatted(lines.text) } : lines;
}

export function withFile(draft: Draft, name: string, octets: Uint8Array<ArrayBuffer>, type: string): Draft {
  return { ...draft, isFile: true, file: { name, octets }, contentType: type === '' ? TYPES.file : type };
}

/** @param now milliseconds since the epoch */
export function readDraft(draft: Draft, limits: RecordLimits, now: number): ReadDraft {
  const faults: Fault[] = [];
  const key = keyFault(draft.key, limits.key);
  if (key !== null) faults.push({ field: 'key', reason: key });
  // An encrypted value is never in plain text.
  const encoding = draft.seal === null ? draft.encoding : 'b64';
  const decoded = octetsOf(draft);
  const octets = decoded ?? new Uint8Array();
  if (decoded === null) faults.push({ field: 'data', reason: 'data_base64' });
  if (!draft.isFile && draft.mode === 'json' && !isJson(draft.text))
    faults.push({ field: 'data', reason: 'data_json' });
  if (octets.length > limits.data) faults.push({ field: 'data', reason: 'data_long' });
  if (encoding === 'plain' && !isPlainText(octets)) faults.push({ field: 'data', reason: 'data_plain' });
  const type = contentTypeFault(draft.contentType, limits.contentType);
  if (type !== null) faults.push({ field: 'content_type', reason: type });
  const ttl = /^[0-9]{1,10}$/.test(draft.ttl) ? Number(draft.ttl) : -1;
  if (ttl < 0 || ttl > limits.ttl) faults.push({ field: 'ttl_seconds', reason: 'ttl_range' });
  const expires = expiryOf(draft, now);
  if (typeof expires === 'object' && expires !== null) faults.push(expires);
  return {
    faults,
    octets,
    fields: {
      data: encodeBase64(octets),
      content_type: draft.contentType,
      encoding,
      ttl_seconds: Math.max(0, ttl),
      expires_at: typeof expires === 'string' ? expires : null,
    },
  };
}

/** ISO 8601, null for never, or a fault. */
function expiryOf({ expiry, amount, unit, at, storedAt }: Draft, now: number): string | null | Fault {
  if (expiry === 'never') return null;
  if (expiry === 'in') {
    const seconds = /^[0-9]{1,9}$/.test(amount) ? Number(amount) * SECONDS[unit] : 0;
    if (seconds < 1 || seconds + now / 1000 > LONGEST_IN_S)
      return { field: 'expires', reason: 'expiry_form' };
    return new Date(now + seconds * 1000).toISOString();
  }
  const isKept = storedAt !== null && timeOf(at) === timeOf(localTime(new Date(storedAt)));
  const time = isKept ? Date.parse(storedAt) : timeOf(at);
  if (Number.isNaN(time) || time > LONGEST_IN_S * 1000) return { field: 'expires', reason: 'expiry_form' };
  return time <= now
    ? { field: 'expires', reason: 'expiry_past' }
    : isKept
      ? storedAt
      : new Date(time).toISOString();
}

/** Null where the text cannot be decoded. */
function octetsOf({ mode, text, file, isCrlf }: Draft): Uint8Array<ArrayBuffer> | null {
  if (file !== null) return file.octets;
  if (mode !== 'base64') return new TextEncoder().encode(isCrlf ? text.replaceAll('\n', '\r\n') : text);
  return decodeBase64(text);
}

/** The form of `<input type="datetime-local">`, with seconds: nothing that was stored is rounded away but milliseconds. */
function localTime(time: Date): string {
  const offset = time.getTimezoneOffset() * 60_000;
  // The last times that a record takes are in the year 10000 east of UTC: `+010000-…` here, `10000-…` in the field.
  return new Date(time.getTime() - offset).toISOString().replace(/^\+0*/, '').slice(0, -1);
}

/** Milliseconds since the epoch of what `localTime` gives, or the field. NaN: it is no time. */
function timeOf(local: string): number {
  return Date.parse(local.replace(/^\d{5,6}(?=-)/, (year) => `+${year.padStart(6, '0')}`));
}
