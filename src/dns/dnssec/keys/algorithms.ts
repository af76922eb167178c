/** The two signature algorithms (IANA "DNS Security Algorithm Numbers"). */

import { createPublicKey, generateKeyPairSync, type KeyObject, sign } from 'node:crypto';
import { concatOctets } from '../../../protocol/dns/octets.ts';

export interface Algorithm {
  /** As in DNSKEY, DS and RRSIG. */
  readonly number: number;
  readonly name: string;
  generate(): KeyObject;
  /** The public key of a DNSKEY record, or null for a private key of another kind. */
  publicOctets(privateKey: KeyObject): Uint8Array | null;
  /** Writes the signature of an RRSIG record, `SIGNATURE_OCTETS` long, to `out` at `at`. */
  sign(octets: Uint8Array, privateKey: KeyObject, out: Uint8Array, at: number): void;
}

/** Of both algorithms. */
export const SIGNATURE_OCTETS = 64;

/** Octets of r, and of s, over P-256 (RFC 6605 §4). */
const P256_OCTETS = 32;

const ECDSA_P256: Algorithm = {
  number: 13,
  name: 'ECDSAP256SHA256',
  generate: () => generateKeyPairSync('ec', { namedCurve: 'prime256v1' }).privateKey,
  publicOctets(privateKey) {
    if (privateKey.asymmetricKeyDetails?.namedCurve !== 'prime256v1') return null;
    const { x = '', y = '' } = createPublicKey(privateKey).export({ format: 'jwk' });
    return concatOctets([Buffer.from(x, 'base64url'), Buffer.from(y, 'base64url')]);
  },
  // `dsaEncoding: 'ieee-p1363'` gives r and s directly, but takes twice the time of the whole DER signature.
  sign: (octets, privateKey, out, at) => putRs(sign('sha256', octets, privateKey), out, at),
};

export const ED25519_NUMBER = 15;

const ED25519: Algorithm = {
  number: ED25519_NUMBER,
  name: 'ED25519',
  generate: () => generateKeyPairSync('ed25519').privateKey,
  publicOctets(privateKey) {
    if (privateKey.asymmetricKeyType !== 'ed25519') return null;
    const { x = '' } = createPublicKey(privateKey).export({ format: 'jwk' });
    return Uint8Array.from(Buffer.from(x, 'base64url'));
  },
  sign: (octets, privateKey, out, at) => out.set(sign(null, octets, privateKey), at),
};

export type KeyRole = 'ksk' | 'zsk';

/** DNSKEY flags (RFC 4034 §2.1.1: zone key, and secure entry point for a KSK) and algorithm of each role. */
export const ROLES: Readonly<Record<KeyRole, { readonly flags: number; readonly algorithm: Algorithm }>> = {
  ksk: { flags: 257, algorithm: ECDSA_P256 },
  zsk: { flags: 256, algorithm: ED25519 },
};

const BY_NUMBER: ReadonlyMap<number, Algorithm> = new Map(
  [ECDSA_P256, ED25519].map((algorithm) => [algorithm.number, algorithm]),
);

/** @throws RangeError for any other number */
export function algorithmOf(number: number): Algorithm {
  const algorithm = BY_NUMBER.get(number);
  if (algorithm === undefined) throw new RangeError(`no algorithm ${number}`);
  return algorithm;
}

/**
 * Writes r and s of fixed length from a DER signature `30 n 02 n r 02 n s`. DER integers are signed and minimal: r and s
 * have an extra leading zero, or lack their own.
 */
function putRs(der: Uint8Array, out: Uint8Array, at: number): void {
  const rAt = 4;
  const rEnd = rAt + der[rAt - 1]!;
  putInteger(der, rAt, rEnd, out, at);
  putInteger(der, rEnd + 2, der.length, out, at + P256_OCTETS);
}

/** Writes the integer at `from[start, end)` as `P256_OCTETS` octets, without the zero for its sign. */
function putInteger(from: Uint8Array, start: number, end: number, out: Uint8Array, at: number): void {
  const digits = Math.min(end - start, P256_OCTETS);
  out.fill(0, at, at + P256_OCTETS - digits);
  for (let i = 1; i <= digits; i++) out[at + P256_OCTETS - i] = from[end - i]!;
}
