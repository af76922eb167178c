import { foldCase } from './labels.ts';

const ALPHABETS = {
  /** RFC 4648 §6, lower case. */
  standard: 'abcdefghijklmnopqrstuvwxyz234567',
  /** RFC 4648 §7, lower case. */
  hex: '0123456789abcdefghijklmnopqrstuv',
} as const;

type Alphabet = keyof typeof ALPHABETS;

export function encodeBase32(bytes: Uint8Array, alphabet: Alphabet): string {
  const letters = ALPHABETS[alphabet];
  let text = '';
  let bits = 0;
  let held = 0;
  for (const byte of bytes) {
    held = (held << 8) | byte;
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
export function decodeBase32(text: string, alphabet: Alphabet): Uint8Array | null {
  const letters = ALPHABETS[alphabet];
  const lower = foldCase(text);
  const bytes = new Uint8Array(Math.floor((lower.length * 5) / 8));
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
      bytes[at++] = held >>> bits;
      held &= (1 << bits) - 1;
    }
  }
  // After a multiple of eight letters, 1, 3 or 6 more are impossible: five or more bits are left.
  return bits >= 5 || held !== 0 ? null : bytes;
}
