/** Text of any kind as one label: the prefixes that public services decode (docs/PROTOCOL.md). */

export type LabelEncoding = 'plain' | 'b32' | 'hex' | 'b64';

const LABEL_MAX = 63;
const BASE32 = 'abcdefghijklmnopqrstuvwxyz234567';
const BASE64URL = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_';

/** @returns null for a text that does not fit into a label in this way */
export function encodeLabel(text: string, encoding: LabelEncoding): string | null {
  const octets = new TextEncoder().encode(text);
  const label =
    encoding === 'plain'
      ? text.toLowerCase()
      : encoding === 'hex'
        ? `hex-${Array.from(octets, (octet) => octet.toString(16).padStart(2, '0')).join('')}`
        : encoding === 'b32'
          ? `b32-${digitsOf(octets, 5, BASE32)}`
          : `b64-${digitsOf(octets, 6, BASE64URL)}`;
  const isGood = /^[a-z0-9_](?:[a-z0-9_-]*[a-z0-9_])?$|^-?[0-9][0-9d_-]*$/i.test(label);
  return isGood && label.length <= LABEL_MAX ? label : null;
}

function digitsOf(octets: Uint8Array, size: number, alphabet: string): string {
  const bits = Array.from(octets, (octet) => octet.toString(2).padStart(8, '0')).join('');
  let out = '';
  for (let at = 0; at < bits.length; at += size) {
    out += alphabet[Number.parseInt(bits.slice(at, at + size).padEnd(size, '0'), 2)];
  }
  return out;
}
