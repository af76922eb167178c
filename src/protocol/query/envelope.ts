import { ENVELOPE_VERSION } from '../../base/brand.ts';
import { decodeBase64, latin1Of } from '../encodings.ts';

/** Envelope error codes and their fixed texts. E014 is reserved and never sent. */
export const ENVELOPE_ERRORS = {
  E001: 'bad name',
  E002: 'bad operation',
  E003: 'bad version',
  E004: 'not found',
  E005: 'invalid input',
  E006: 'unauthorised',
  E007: 'unknown resource',
  E008: 'too large',
  E009: 'provider unavailable',
  E010: 'rate limit',
  E011: 'timeout',
  E012: 'internal error',
  E013: 'not enabled',
} as const;

export type EnvelopeErrorCode = keyof typeof ENVELOPE_ERRORS;

/** `type/subtype` and parameters (RFC 9110 §8.3.1). */
const TOKEN = "[!#$%&'*+.^_`|~0-9A-Za-z-]+";
export const MEDIA_TYPE = new RegExp(
  `^${TOKEN}/${TOKEN}(?:[ \\t]*;[ \\t]*${TOKEN}=(?:${TOKEN}|"[ !#-\\[\\]-~]*"))*$`,
);

/** `f` by media type. At most 7 letters, so that the head has at most 54 octets. */
export const FORMATS: ReadonlyMap<string, string> = new Map([
  ['application/json', 'json'],
  ['application/xml', 'xml'],
  ['text/xml', 'xml'],
  ['application/yaml', 'yaml'],
  ['application/x-yaml', 'yaml'],
  ['text/yaml', 'yaml'],
  ['application/toml', 'toml'],
  ['application/cbor', 'cbor'],
  ['application/pdf', 'pdf'],
  ['application/javascript', 'js'],
  ['text/javascript', 'js'],
  ['text/plain', 'text'],
  ['text/html', 'html'],
  ['text/css', 'css'],
  ['text/csv', 'csv'],
  ['text/markdown', 'md'],
  ['image/png', 'png'],
  ['image/jpeg', 'jpeg'],
  ['image/gif', 'gif'],
  ['image/webp', 'webp'],
  ['image/svg+xml', 'svg'],
]);

/** Ignores parameters of the media type. @param formats of a server, by media type */
export function contentFormat(contentType: string, formats: ReadonlyMap<string, string>): string {
  const semicolon = contentType.indexOf(';');
  const media = (semicolon < 0 ? contentType : contentType.slice(0, semicolon)).trim().toLowerCase();
  const known = formats.get(media);
  if (known !== undefined) return known;
  if (media.endsWith('+json')) return 'json';
  if (media.endsWith('+xml')) return 'xml';
  return 'bin';
}

/** The envelope of a record up to its data, which follows as `e` says. At most 54 octets. */
export function envelopeHead(encoding: 'b64' | 'plain', format: string, ttlSeconds: number): string {
  return `v=${ENVELOPE_VERSION};s=ok;t=data;e=${encoding};f=${format};ttl=${ttlSeconds};d=`;
}

/** Whether a payload may be answered as it is: UTF-8 without U+0000 to U+001F and U+007F to U+009F. */
export function isPlainText(octets: Uint8Array): boolean {
  try {
    return !/\p{Cc}/u.test(new TextDecoder('utf-8', { fatal: true }).decode(octets));
  } catch {
    return false;
  }
}

/** Octets of the longest string of a TXT record (RFC 1035 §3.3.14). */
const STRING_OCTETS = 255;
/** What dig prints as it is: printable ASCII but `"` and `\`. */
const UNESCAPED = /^[ !#-[\]-~]*$/;

/** Whether `dig +short` prints the plain text as it is: no octet with a backslash, and head and text in one string. */
export function isPlainInDig(octets: Uint8Array, format: string, ttlSeconds: number): boolean {
  const room = STRING_OCTETS - envelopeHead('plain', format, ttlSeconds).length;
  return octets.length <= room && UNESCAPED.test(latin1Of(octets));
}

/** The text is fixed: it never contains the name or the token. */
export function errorEnvelope(code: EnvelopeErrorCode, retryAfter?: number): string {
  const tail = retryAfter === undefined ? '' : `;retry_after=${retryAfter}`;
  return `v=${ENVELOPE_VERSION};s=${envelopeStatus(code)};t=error;code=${code};msg=${ENVELOPE_ERRORS[code]}${tail}`;
}

/** Field `s` of an error envelope. */
export function envelopeStatus(code: EnvelopeErrorCode): 'notfound' | 'ratelimit' | 'error' {
  if (code === 'E004') return 'notfound';
  return code === 'E010' ? 'ratelimit' : 'error';
}

/** `data` is decoded as `e` says; null when `d` is missing or does not decode. */
export interface ParsedEnvelope {
  readonly fields: ReadonlyMap<string, string>;
  readonly data: Uint8Array<ArrayBuffer> | null;
}

/**
 * Parses `key=value` fields with `;` between them; `d` is last. Null when the text does not begin with `v=`.
 * @param text one character for each octet
 */
export function parseEnvelope(text: string): ParsedEnvelope | null {
  if (!text.startsWith('v=')) return null;
  const fields = new Map<string, string>();
  let rest = text;
  while (rest !== '') {
    const isData = rest.startsWith('d=');
    const end = isData ? -1 : rest.indexOf(';');
    const field = end < 0 ? rest : rest.slice(0, end);
    const equals = field.indexOf('=');
    if (equals < 1) return null;
    fields.set(field.slice(0, equals), field.slice(equals + 1));
    rest = end < 0 ? '' : rest.slice(end + 1);
  }
  return { fields, data: decodePayload(fields.get('e'), fields.get('d')) };
}

function decodePayload(encoding: string | undefined, payload: string | undefined) {
  if (payload === undefined) return null;
  if (encoding === 'b64') return decodeBase64(payload);
  if (encoding === 'plain') return Uint8Array.from(payload, (letter) => letter.charCodeAt(0));
  return null;
}
