/** Octets as text: Base64, Base32 (RFC 4648) and hexadecimal. Strict, and without `Buffer`: browsers run it too. */
import { foldCase } from './names/labels.ts';

/** Strict Base64 (RFC 4648 §3.5, §4): padded, no white space, unused bits zero. */
export const BASE64 = /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/][AQgw]==|[A-Za-z0-9+/]{2}[AEIMQUYcgkosw048]=)?$/;

const HEX = /^(?:[0-9a-f]{2})+$/i;

const BASE32 = {
  /** RFC 4648 §6, lower case. */
  standard: 'abcdefghijklmnopqrstuvwxyz234567',
  /** RFC 4648 §7, lower case. */
  hex: '0123456789abcdefghijklmnopqrstuv',
} as const;

type Base32 = keyof typeof BASE32;

/** Null for what is not strict Base64. */
export function decodeBase64(text: string): Uint8Array<ArrayBuffer> | null {
  return BASE64.test(text) ? Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0)) : null;
}

export function encodeBase64(octets: Uint8Array): string {
  return btoa(latin1Of(octets));
}

/** RFC 4648 §5 without padding. Null for another letter, an impossible length or unused bits that are set. */
export function decodeBase64Url(text: string): Uint8Array<ArrayBuffer> | null {
  if (/[+/=]/.test(text)) return null;
  const letters = text.replaceAll('-', '+').replaceAll('_', '/');
  return decodeBase64(letters.padEnd(Math.ceil(letters.length / 4) * 4, '='));
}

export function encodeBase64Url(octets: Uint8Array): string {
  return encodeBase64(octets).replaceAll('+', '-').replaceAll('/', '_').replaceAll('=', '');
}

/** One character for each octet. */
export function latin1Of(octets: Uint8Array): string {
  return Array.from(octets, (octet) => String.fromCharCode(octet)).join('');
}

/** Lower case. */
export function encodeHex(octets: Uint8Array): string {
  return Array.from(octets, (octet) => octet.toString(16).padStart(2, '0')).join('');
}

/** Decodes any case. Null for another letter, an odd number of letters, or none. */
export function decodeHex(text: string): Uint8Array<ArrayBuffer> | null {
  if (!HEX.test(text)) return null;
  return Uint8Array.from({ length: text.length / 2 }, (_, at) =>
    Number.parseInt(text.slice(2 * at, 2 * at + 2), 16),
  );
}

export function encodeBase32(octets: Uint8Array, alphabet: Base32): string {
  const letters = BASE32[alphabet];
  let text = '';
  let bits = 0;
  let held = 0;
  for (const octet of octets) {
    held = (held << 8) | octet;
    bits += 8;
    while (bits >= 5) {
      bits -= 5;
      text += letters[(held >>> bits) & 31];
    }
    held &= (1 << bits) - 1;
  }
  return bits > 0 ? text + letters[(held << (5 - bits)) & 31] : text;
}

/** Decodes any case. Null for another letter, an impossible length or unused bits that are set. */
export function decodeBase32(text: string, alphabet: Base32): Uint8Array<ArrayBuffer> | null {
  const letters = BASE32[alphabet];
  const lower = foldCase(text);
  const octets = new Uint8Array(Math.floor((lower.length * 5) / 8));
  let at = 0;
  let bits = 0;
  let held = 0;
  for (const letter of lower) {
    const value = letters.indexOf(letter);
    if (value < 0) return null;
    held = (held << 5) | value;
    bits += 5;
    if (bits >= 8) {
      bits -= 8;
      octets[at++] = held >>> bits;
      held &= (1 << bits) - 1;
    }
  }
  // After a multiple of eight letters, 1, 3 or 6 more are impossible: five or more bits are left.
  return bits >= 5 || held !== 0 ? null : octets;
}
