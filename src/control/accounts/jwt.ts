import { createHash, createPrivateKey, createPublicKey, hkdfSync, type KeyObject } from 'node:crypto';
import { errors, jwtVerify, SignJWT } from 'jose';
import type { Clock } from '../../core/clock.ts';

const ALGORITHM = 'EdDSA';
const ISSUER = 'uqrp';
const AUDIENCE = 'uqrp-api';
const KEY_INFO = 'uqrp customer jwt ed25519 v1';

/** PKCS #8 prefix of a 32-octet Ed25519 seed (RFC 8410 §7). */
const PKCS8_HEAD = Buffer.from('302e020100300506032b657004220420', 'hex');

/** Verified tokens in the cache. The session is still looked up on every call. */
const VERIFIED_MAX = 10_000;

/** `expiresAt` is milliseconds since the epoch. */
export interface JwtClaims {
  readonly customerId: string;
  readonly sessionId: string;
  readonly expiresAt: number;
}

export interface JwtSigner {
  sign(claims: JwtClaims, issuedAt: number): Promise<string>;
  /** @returns null for a token with a wrong signature or past its end */
  verify(token: string): Promise<JwtClaims | null>;
}

/** Processes with one secret derive one Ed25519 key, and accept each other's tokens. @param secret at least 32 octets */
export function jwtSigner(secret: Uint8Array, clock: Clock): JwtSigner {
  const { privateKey, publicKey } = deriveKeys(secret);
  const verified = new Map<string, JwtClaims>();
  return {
    sign: (claims, issuedAt) =>
      new SignJWT({ sid: claims.sessionId })
        .setProtectedHeader({ alg: ALGORITHM, typ: 'JWT' })
        .setIssuer(ISSUER)
        .setAudience(AUDIENCE)
        .setSubject(claims.customerId)
        .setIssuedAt(Math.floor(issuedAt / 1000))
        .setExpirationTime(Math.floor(claims.expiresAt / 1000))
        .sign(privateKey),
    async verify(token) {
      const digest = createHash('sha256').update(token).digest('base64');
      const known = verified.get(digest);
      if (known !== undefined) return known.expiresAt > clock() ? known : null;
      const claims = await verifySignature(token, publicKey, clock());
      if (claims !== null) remember(verified, digest, claims);
      return claims;
    },
  };
}

function deriveKeys(secret: Uint8Array): { privateKey: KeyObject; publicKey: KeyObject } {
  if (secret.length < 32) throw new RangeError('the server secret has fewer than 32 bytes');
  const seed = Buffer.from(hkdfSync('sha256', secret, new Uint8Array(0), KEY_INFO, 32));
  const key = Buffer.concat([PKCS8_HEAD, seed]);
  const privateKey = createPrivateKey({ key, format: 'der', type: 'pkcs8' });
  return { privateKey, publicKey: createPublicKey(privateKey) };
}

async function verifySignature(token: string, key: KeyObject, now: number): Promise<JwtClaims | null> {
  try {
    const { payload } = await jwtVerify(token, key, {
      // Fixed: the header of a token must not choose the algorithm.
      algorithms: [ALGORITHM],
      issuer: ISSUER,
      audience: AUDIENCE,
      requiredClaims: ['sub', 'sid', 'exp'],
      currentDate: new Date(now),
    });
    const { sub, exp } = payload;
    const { sid } = payload;
    if (typeof sub !== 'string' || typeof sid !== 'string' || exp === undefined) return null;
    return { customerId: sub, sessionId: sid, expiresAt: exp * 1000 };
  } catch (error) {
    if (error instanceof errors.JOSEError) return null;
    throw error;
  }
}

function remember(verified: Map<string, JwtClaims>, digest: string, claims: JwtClaims): void {
  if (verified.size >= VERIFIED_MAX) {
    for (const oldest of verified.keys()) {
      verified.delete(oldest);
      break;
    }
  }
  verified.set(digest, claims);
}
