import { hash, type KeyObject } from 'node:crypto';
import { decodeProtectedHeader, errors, jwtVerify, SignJWT } from 'jose';
import type { Clock } from '../../base/clock.ts';
import type { JwtKeys } from './jwt-keys.ts';

const ALGORITHM = 'EdDSA';
const ISSUER = 'uqrp';
const AUDIENCE = 'uqrp-api';
const KID = /^[0-9a-f]{16}$/;

/** Verified tokens in the cache. The session is still looked up on every call. */
const VERIFIED_MAX = 10_000;

/** `expiresAt` is milliseconds since the epoch. */
export interface JwtClaims {
  readonly userId: string;
  readonly sessionId: string;
  readonly expiresAt: number;
}

export interface JwtSigner {
  sign(claims: JwtClaims, issuedAt: number): Promise<string>;
  /** @returns null for a token with a wrong signature or past its end */
  verify(token: string): Promise<JwtClaims | null>;
}

/** @param earlierKey verifies tokens without `kid`, which releases before the table of keys signed */
export function jwtSigner(keys: JwtKeys, earlierKey: KeyObject, clock: Clock): JwtSigner {
  const verified = new Map<string, JwtClaims>();
  return {
    async sign(claims, issuedAt) {
      const { kid, privateKey } = await keys.signing(issuedAt);
      return new SignJWT({ sid: claims.sessionId })
        .setProtectedHeader({ alg: ALGORITHM, typ: 'JWT', kid })
        .setIssuer(ISSUER)
        .setAudience(AUDIENCE)
        .setSubject(claims.userId)
        .setIssuedAt(Math.floor(issuedAt / 1000))
        .setExpirationTime(Math.floor(claims.expiresAt / 1000))
        .sign(privateKey);
    },
    async verify(token) {
      const digest = hash('sha256', token, 'base64');
      const known = verified.get(digest);
      if (known !== undefined) return known.expiresAt > clock() ? known : null;
      const key = await keyOf(token, keys, earlierKey);
      const claims = key === null ? null : await verifySignature(token, key, clock());
      if (claims !== null) remember(verified, digest, claims);
      return claims;
    },
  };
}

/** The key that the header names. It names no algorithm that counts, and no place to load a key from. */
async function keyOf(token: string, keys: JwtKeys, earlierKey: KeyObject): Promise<KeyObject | null> {
  const kid = keyId(token);
  if (kid === undefined) return earlierKey;
  return kid !== null && KID.test(kid) ? keys.verifying(kid) : null;
}

/** Undefined: the header has no `kid`. Null: it is no header, or its `kid` is no text. */
function keyId(token: string): string | null | undefined {
  try {
    const { kid } = decodeProtectedHeader(token);
    return kid === undefined || typeof kid === 'string' ? kid : null;
  } catch {
    return null;
  }
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
    return { userId: sub, sessionId: sid, expiresAt: exp * 1000 };
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
