import { DNSSEC_ALGORITHM } from '../../../../src/protocol/dns/codes.ts';
import type { ZoneKey } from './zone-keys.ts';

/** `unsupported`: this runtime does not have the algorithm, or no WebCrypto: browsers have it on https and localhost only. */
export type Verification = 'valid' | 'no_match' | 'unsupported';

interface Scheme {
  readonly name: string;
  readonly importing: { readonly name: string; readonly namedCurve?: string };
  readonly verifying: { readonly name: string; readonly hash?: string };
  /** The key as WebCrypto takes it. */
  readonly raw: (publicKey: Uint8Array) => Uint8Array<ArrayBuffer>;
  readonly keyOctets: number;
}

const SIGNATURE_OCTETS = 64;
/** SEC 1: a point that is not compressed. */
const UNCOMPRESSED = 4;

/** IANA "DNS Security Algorithm Numbers": RFC 6605 and RFC 8080. */
const SCHEMES: ReadonlyMap<number, Scheme> = new Map([
  [
    DNSSEC_ALGORITHM.ECDSAP256SHA256,
    {
      name: 'ECDSA P-256 with SHA-256',
      importing: { name: 'ECDSA', namedCurve: 'P-256' },
      verifying: { name: 'ECDSA', hash: 'SHA-256' },
      raw: (key) => Uint8Array.of(UNCOMPRESSED, ...key),
      keyOctets: 64,
    },
  ],
  [
    DNSSEC_ALGORITHM.ED25519,
    {
      name: 'Ed25519',
      importing: { name: 'Ed25519' },
      verifying: { name: 'Ed25519' },
      raw: (key) => Uint8Array.from(key),
      keyOctets: 32,
    },
  ],
]);

/** `Ed25519`, or `algorithm 8` for one that cannot be checked. */
export function algorithmName(algorithm: number): string {
  return SCHEMES.get(algorithm)?.name ?? `algorithm ${algorithm}`;
}

/** Checks signatures of one key. */
export type Verifier = (signature: Uint8Array, octets: Uint8Array<ArrayBuffer>) => Promise<Verification>;

/** Checks by WebCrypto, which takes the key once, at the first signature. */
export function verifierOf(key: Pick<ZoneKey, 'algorithm' | 'publicKey'>): Verifier {
  const scheme = SCHEMES.get(key.algorithm);
  const { subtle } = globalThis.crypto as { readonly subtle?: SubtleCrypto };
  if (scheme === undefined || subtle === undefined) return () => Promise.resolve('unsupported');
  let imported: Promise<CryptoKey> | null = null;
  return async (signature, octets) => {
    if (key.publicKey.length !== scheme.keyOctets || signature.length !== SIGNATURE_OCTETS) return 'no_match';
    try {
      imported ??= subtle.importKey('raw', scheme.raw(key.publicKey), scheme.importing, false, ['verify']);
      const isValid = await subtle.verify(
        scheme.verifying,
        await imported,
        Uint8Array.from(signature),
        octets,
      );
      return isValid ? 'valid' : 'no_match';
    } catch (error) {
      // Octets that are no point of the curve are a DataError: no signature can fit them.
      return (error as Error).name === 'NotSupportedError' ? 'unsupported' : 'no_match';
    }
  };
}
