import { ENVELOPE_VERSION } from '../../base/brand.ts';
import { ENVELOPE_ERRORS, type EnvelopeErrorCode } from '../../base/errors.ts';

/** `f` by media type. At most 7 letters, so that the head has at most 52 octets. */
export const FORMATS: ReadonlyMap<string, string> = new Map(
  Object.entries({
    'application/json': 'json',
    'application/xml': 'xml',
    'text/xml': 'xml',
    'application/yaml': 'yaml',
    'application/x-yaml': 'yaml',
    'text/yaml': 'yaml',
    'application/toml': 'toml',
    'application/cbor': 'cbor',
    'application/pdf': 'pdf',
    'application/javascript': 'js',
    'text/javascript': 'js',
    'text/plain': 'text',
    'text/html': 'html',
    'text/css': 'css',
    'text/csv': 'csv',
    'text/markdown': 'md',
    'image/png': 'png',
    'image/jpeg': 'jpeg',
    'image/gif': 'gif',
    'image/webp': 'webp',
    'image/svg+xml': 'svg',
  }),
);

/** Ignores parameters of the media type. */
export function contentFormat(contentType: string): string {
  const semicolon = contentType.indexOf(';');
  const media = (semicolon < 0 ? contentType : contentType.slice(0, semicolon)).trim().toLowerCase();
  const known = FORMATS.get(media);
  if (known !== undefined) return known;
  if (media.endsWith('+json')) return 'json';
  if (media.endsWith('+xml')) return 'xml';
  return 'bin';
}

/** At most 52 octets of head and 3,448 of Base64. */
export function hostedEnvelope(data: Uint8Array, format: string, ttlSeconds: number): Buffer {
  const head = `v=${ENVELOPE_VERSION};s=ok;t=data;e=b64;f=${format};ttl=${ttlSeconds};d=`;
  const base64Length = Math.ceil(data.length / 3) * 4;
  const text = Buffer.allocUnsafe(head.length + base64Length);
  text.write(head, 0, 'latin1');
  const bytes = Buffer.from(data.buffer, data.byteOffset, data.byteLength);
  text.write(bytes.toString('base64'), head.length, 'latin1');
  return text;
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
  readonly data: Buffer | null;
}

/** Parses `key=value` fields with `;` between them; `d` is last. Null when the text does not begin with `v=`. */
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

function decodePayload(encoding: string | undefined, payload: string | undefined): Buffer | null {
  if (payload === undefined) return null;
  if (encoding === 'b64') return Buffer.from(payload, 'base64');
  if (encoding === 'plain') return Buffer.from(payload, 'latin1');
  return null;
}
