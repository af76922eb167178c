import { encodeHex } from '../../../src/protocol/encodings.ts';

/** Browsers call themselves `Mozilla/…`; Node, Deno, Bun and Workers give their own names. */
const BROWSER = /^Mozilla\//;

/**
 * Whether this is a browser. It names itself in `User-Agent`, and a page of another origin would need the server's
 * permission for the header.
 */
export function isBrowser(): boolean {
  const { navigator } = globalThis as { navigator?: { userAgent?: string } };
  return BROWSER.test(navigator?.userAgent ?? '');
}

/** A random UUID. Browsers have `randomUUID` only on pages over https and of localhost. */
export function randomUuid(): string {
  const { crypto } = globalThis;
  if (typeof crypto.randomUUID === 'function') return crypto.randomUUID();
  return uuidOf(crypto.getRandomValues(new Uint8Array(16)));
}

/** @param octets 16 random octets */
export function uuidOf(octets: Uint8Array): string {
  const versioned = octets.map((octet, at) =>
    at === 6 ? (octet & 0x0f) | 0x40 : at === 8 ? (octet & 0x3f) | 0x80 : octet,
  );
  const hex = encodeHex(versioned);
  return [hex.slice(0, 8), hex.slice(8, 12), hex.slice(12, 16), hex.slice(16, 20), hex.slice(20)].join('-');
}
