import { decodeBase64, encodeBase64 } from '../../../../src/protocol/encodings.ts';

/** What a record holds, in one of four forms. */
export type Value =
  | { readonly text: string }
  | { readonly json: unknown }
  | { readonly bytes: Uint8Array }
  /** Strict Base64, as the API takes it. */
  | { readonly data: string };

/** The data in Base64, and the content type that the form suggests. */
export interface EncodedValue {
  readonly data: string;
  readonly content_type: string;
}

const FORMS = ['text', 'json', 'bytes', 'data'] as const;

/** @throws TypeError unless exactly one form is given, or for JSON that has no text, such as undefined */
export function encodeValue(value: Value): EncodedValue {
  const given = FORMS.filter(
    (form) => form in value && (value as Record<string, unknown>)[form] !== undefined,
  );
  if (given.length !== 1) throw new TypeError('give the value as exactly one of text, json, bytes and data');
  if ('text' in value) return { data: encodeBase64(utf8(value.text)), content_type: 'text/plain' };
  if ('json' in value) {
    const text: string | undefined = JSON.stringify(value.json);
    if (text === undefined) throw new TypeError('json must be a value that JSON can express');
    return { data: encodeBase64(utf8(text)), content_type: 'application/json' };
  }
  if ('bytes' in value) return { data: encodeBase64(value.bytes), content_type: 'application/octet-stream' };
  return { data: value.data, content_type: 'application/octet-stream' };
}

/** Whether one of the forms is given. */
export function hasValue(fields: object): fields is Value {
  return FORMS.some((form) => (fields as Record<string, unknown>)[form] !== undefined);
}

/** The fields without the four forms. */
export function withoutValue<T extends object>(fields: T): Omit<T, (typeof FORMS)[number]> {
  const rest = { ...fields } as Record<string, unknown>;
  for (const form of FORMS) delete rest[form];
  return rest as Omit<T, (typeof FORMS)[number]>;
}

/** The octets of a record's `data`. @throws TypeError without `data`, as an API key without `read` gets it, or for data that is not Base64 */
export function bytesOf(record: { readonly data?: string | null | undefined }): Uint8Array<ArrayBuffer> {
  const { data } = record;
  if (typeof data !== 'string')
    throw new TypeError('the record has no data: reading it takes the operation `read`');
  const octets = decodeBase64(data);
  if (octets === null) throw new TypeError('the data of the record is not Base64');
  return octets;
}

/** `data` as UTF-8. */
export function textOf(record: { readonly data?: string | null | undefined }): string {
  return new TextDecoder('utf-8', { fatal: true }).decode(bytesOf(record));
}

/** `data` as JSON. The type is the caller's claim. */
export function jsonOf<T = unknown>(record: { readonly data?: string | null | undefined }): T {
  return JSON.parse(textOf(record)) as T;
}

function utf8(text: string): Uint8Array {
  return new TextEncoder().encode(text);
}
