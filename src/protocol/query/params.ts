import {
  decodeBase32,
  decodeBase64Url,
  decodeHex,
  encodeBase32,
  encodeBase64Url,
  encodeHex,
} from '../encodings.ts';
import { foldCase } from '../names/labels.ts';
import { isParam } from '../names/query-name.ts';

const B64_PREFIX = 'b64-';

/** `plain`: the text itself. The others are the prefix of the label. */
export type ParamEncoding = 'plain' | 'b32' | 'hex' | 'b64';

/**
 * Decodes one params label of a public service to text; a label without a known prefix is its own text. Many resolvers
 * change the case of letters, which breaks `b64-` and does not affect `b32-` and `hex-`.
 * @returns null when the part after the prefix is not of that encoding, or is not UTF-8
 */
export function decodeParam(label: string): string | null {
  const lower = label.slice(0, 4).toLowerCase();
  const body = label.slice(4);
  if (lower === 'b32-') return textOf(decodeBase32(body, 'standard'));
  if (lower === 'hex-') return textOf(decodeHex(body));
  if (lower === B64_PREFIX) return textOf(decodeBase64Url(body));
  return label;
}

/** The counterpart of `decodeParam`. Null for a text that does not fit into a label in this way. */
export function encodeParam(text: string, encoding: ParamEncoding): string | null {
  const label = encoding === 'plain' ? foldCase(text) : `${encoding}-${encoded(text, encoding)}`;
  return isParam(foldCase(label), true) ? label : null;
}

/** Only Base64 labels depend on the case of letters. */
export function isCaseSensitive(label: string): boolean {
  return label.slice(0, B64_PREFIX.length).toLowerCase() === B64_PREFIX;
}

function encoded(text: string, encoding: Exclude<ParamEncoding, 'plain'>): string {
  const octets = new TextEncoder().encode(text);
  if (encoding === 'hex') return encodeHex(octets);
  return encoding === 'b32' ? encodeBase32(octets, 'standard') : encodeBase64Url(octets);
}

function textOf(octets: Uint8Array | null): string | null {
  if (octets === null || octets.length === 0) return null;
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(octets);
  } catch {
    return null;
  }
}
