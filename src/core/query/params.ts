import { decodeBase32 } from '../text/base32.ts';

const B64 = /^[A-Za-z0-9_-]+$/;
const HEX = /^(?:[0-9a-f]{2})+$/i;
const B64_PREFIX = 'b64-';
const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

/**
 * Decodes one params label to text, for public services; hosted keys keep it as it stands. A label without a known prefix is its own text.
 *
 * `b64-` needs the letters as they were received (see `isCaseSensitive`). Many resolvers change them, and Base64 does not
 * survive that: `b32-` and `hex-` are the safe ones.
 *
 * @returns null when the label has a prefix but no such encoding, or decodes to something that is not UTF-8
 */
export function decodeParam(label: string): string | null {
  const lower = label.slice(0, 4).toLowerCase();
  const body = label.slice(4);
  if (lower === 'b32-') return text(decodeBase32(body, 'standard'));
  if (lower === 'hex-') return text(HEX.test(body) ? Buffer.from(body, 'hex') : null);
  if (lower === B64_PREFIX) return text(decodeBase64Url(body));
  return label;
}

/** Whether the text of a label depends on the case of its letters, which no other part of a name does. */
export function isCaseSensitive(label: string): boolean {
  return label.slice(0, B64_PREFIX.length).toLowerCase() === B64_PREFIX;
}

/** RFC 4648 §5 without padding; null for a foreign letter, an impossible length or unused bits that are set. */
function decodeBase64Url(body: string): Uint8Array | null {
  if (!B64.test(body)) return null;
  const bytes = Buffer.from(body, 'base64url');
  return bytes.toString('base64url') === body ? bytes : null;
}

function text(bytes: Uint8Array | null): string | null {
  if (bytes === null || bytes.length === 0) return null;
  try {
    return utf8.decode(bytes);
  } catch {
    return null;
  }
}
