import { decodeBase32 } from '../names/base32.ts';

const B64 = /^[A-Za-z0-9_-]+$/;
const HEX = /^(?:[0-9a-f]{2})+$/i;
const B64_PREFIX = 'b64-';
const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

/**
 * Decodes one params label of a public service to text; a label without a known prefix is its own text. Many resolvers
 * change the case of letters, which breaks `b64-` and does not affect `b32-` and `hex-`.
 * @returns null when the part after the prefix is not of that encoding, or is not UTF-8
 */
export function decodeParam(label: string): string | null {
  const lower = label.slice(0, 4).toLowerCase();
  const body = label.slice(4);
  if (lower === 'b32-') return text(decodeBase32(body, 'standard'));
  if (lower === 'hex-') return text(HEX.test(body) ? Buffer.from(body, 'hex') : null);
  if (lower === B64_PREFIX) return text(decodeBase64Url(body));
  return label;
}

/** Only Base64 labels depend on the case of letters. */
export function isCaseSensitive(label: string): boolean {
  return label.slice(0, B64_PREFIX.length).toLowerCase() === B64_PREFIX;
}

/** RFC 4648 §5 without padding. Null for another letter, an impossible length or unused bits that are set. */
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
