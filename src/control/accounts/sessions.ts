import { createPrivateKey, createPublicKey, hash, hkdfSync, type KeyObject } from 'node:crypto';
import { decodeProtectedHeader, errors, jwtVerify, SignJWT } from 'jose';
import { type Random, realRandom } from '../../base/chance.ts';
import { unauthenticated } from '../../base/errors.ts';
import { LIMITS } from '../../base/limits.ts';
import { aesGcmEncryption, type SecretEncryption } from '../../base/seal.ts';
import type { Clock } from '../../base/time.ts';
import type { Actor, ApiOperation } from '../../http/actor.ts';
import {
  findSession,
  insertSession,
  lockCustomer,
  type SignInMethod,
  touchSession,
  trimSessions,
} from '../../store/accounts.ts';
import { addJwtKey, findJwtKey, findJwtKeyOf, type JwtKeysTable } from '../../store/sign-in.ts';
import type { Store, Tx } from '../../store/store.ts';
import { audited, auditFor, BY_OPERATOR, byUser } from '../audit/actions.ts';
import { endTokensOfSessions } from './membership.ts';

/** Milliseconds between two updates of `last_used_at`. */
const EVERY = 60_000;

/** Credentials whose last use is in memory. Above it all are deleted, and read again from the database. */
const REMEMBERED_MAX = 10_000;

/**
 * @param write stores a use at `now`, unless one after `before` is stored
 * @param onError called when that failed; the request does not wait for it
 */
export function lastUses(
  clock: Clock,
  write: (id: string, now: number, before: number) => Promise<void>,
  onError: (error: unknown) => void,
) {
  const noted = new Map<string, number>();
  const writing = new Set<Promise<void>>();
  return {
    /** Begins to note a use, unless one was noted in the last minute. @param lastUsedAt as the database has it */
    note(id: string, lastUsedAt: number | null): void {
      const now = clock();
      const last = Math.max(lastUsedAt ?? -Infinity, noted.get(id) ?? -Infinity);
      if (now - last < EVERY) return;
      if (noted.size >= REMEMBERED_MAX) noted.clear();
      noted.set(id, now);
      const note: Promise<void> = write(id, now, now - EVERY)
        .catch(onError)
        .finally(() => writing.delete(note));
      writing.add(note);
    },
    /** Waits for updates under way. */
    async settle(): Promise<void> {
      await Promise.all(writing);
    },
  };
}

/** Milliseconds for which a key signs: 30 days. */
export const KEY_PERIOD = 30 * 86_400_000;

/** Public keys in memory. There are two or three; above this number something is wrong, and all are read again. */
const CACHED_MAX = 16;

interface SigningKey {
  readonly kid: string;
  readonly privateKey: KeyObject;
}

const periodOf = (now: number): number => Math.floor(now / KEY_PERIOD);

/**
 * Keys that sign session tokens, one for each period of `KEY_PERIOD`. Processes agree because they compute the same period and the
 * database holds one key for it. A key is deleted when the next but one is made: its last token has ended long before.
 */
export function openJwtKeys(store: Store, encryption: SecretEncryption, random: Random) {
  const verifying = new Map<string, KeyObject>();
  let signing: SigningKey | null = null;

  return {
    /**
     * The key that signs at `now`, which the first unit of its period makes. In the unit of the session: a database that lacks the key after a failover
     * lacks the session too.
     */
    async keyIn(tx: Tx, now: number): Promise<JwtKeysTable> {
      const period = periodOf(now);
      const found = await findJwtKeyOf(tx, period);
      if (found !== null) return found;
      const made = makeKey(period, encryption, random);
      await addJwtKey(tx, made, period - 1);
      // Another process may have been first: its key counts.
      return (await findJwtKeyOf(tx, period)) ?? made;
    },
    signing({ kid, private_key }: JwtKeysTable): SigningKey {
      if (signing?.kid === kid) return signing;
      const der = Buffer.from(encryption.decrypt(kid, private_key), 'base64');
      signing = { kid, privateKey: createPrivateKey({ key: der, format: 'der', type: 'pkcs8' }) };
      return signing;
    },
    /** Null for a key that does not exist, or no longer. */
    async verifying(kid: string): Promise<KeyObject | null> {
      const known = verifying.get(kid);
      if (known !== undefined) return known;
      const row = await findJwtKey(store.read, kid);
      if (row === null) return null;
      const key = createPublicKey({ key: JSON.parse(row.public_key), format: 'jwk' });
      if (verifying.size >= CACHED_MAX) verifying.clear();
      verifying.set(kid, key);
      return key;
    },
  };
}

function makeKey(period: number, encryption: SecretEncryption, random: Random): JwtKeysTable {
  const key = Buffer.concat([PKCS8_HEAD, random(32)]);
  const publicKey = createPublicKey(createPrivateKey({ key, format: 'der', type: 'pkcs8' }));
  const kid = Buffer.from(random(8)).toString('hex');
  return {
    period,
    kid,
    public_key: JSON.stringify(publicKey.export({ format: 'jwk' })),
    private_key: encryption.encrypt(kid, key.toString('base64')),
  };
}

const ALGORITHM = 'EdDSA';
const ISSUER = 'uqrp';
const AUDIENCE = 'uqrp-api';
const KID = /^[0-9a-f]{16}$/;

/** Verified tokens in the cache. The session is still looked up on every call. */
const VERIFIED_MAX = 10_000;

/** `expiresAt` is milliseconds since the epoch. */
interface JwtClaims {
  readonly userId: string;
  readonly sessionId: string;
  readonly expiresAt: number;
}

/** @param earlierKey verifies tokens without `kid`, which releases before the table of keys signed */
export function jwtSigner(keys: ReturnType<typeof openJwtKeys>, earlierKey: KeyObject, clock: Clock) {
  const verified = new Map<string, JwtClaims>();
  return {
    keyIn: (tx: Tx, now: number): Promise<JwtKeysTable> => keys.keyIn(tx, now),
    /** @param key as `keyIn` gave it */
    async sign(claims: JwtClaims, issuedAt: number, key: JwtKeysTable): Promise<string> {
      const { kid, privateKey } = keys.signing(key);
      return new SignJWT({ sid: claims.sessionId })
        .setProtectedHeader({ alg: ALGORITHM, typ: 'JWT', kid })
        .setIssuer(ISSUER)
        .setAudience(AUDIENCE)
        .setSubject(claims.userId)
        .setIssuedAt(Math.floor(issuedAt / 1000))
        .setExpirationTime(Math.floor(claims.expiresAt / 1000))
        .sign(privateKey);
    },
    /** @returns null for a token with a wrong signature or past its end */
    async verify(token: string): Promise<JwtClaims | null> {
      const digest = hash('sha256', token, 'base64');
      const known = verified.get(digest);
      if (known !== undefined) return known.expiresAt > clock() ? known : null;
      const key = isCanonical(token) ? await keyOf(token, keys, earlierKey) : null;
      const claims = key === null ? null : await verifySignature(token, key, clock());
      if (claims !== null) remember(verified, digest, claims);
      return claims;
    },
  };
}

/** Unused bits of a last letter are 0 (RFC 4648 §3.5): else another text would be the same token. */
function isCanonical(token: string): boolean {
  return token.split('.').every((part) => Buffer.from(part, 'base64url').toString('base64url') === part);
}

/** The key that the header names. It names no algorithm that counts, and no place to load a key from. */
async function keyOf(
  token: string,
  keys: ReturnType<typeof openJwtKeys>,
  earlierKey: KeyObject,
): Promise<KeyObject | null> {
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

/** Milliseconds: 12 hours. */
export const SESSION_LENGTH = 12 * 3_600_000;

const EVERY_OPERATION: ReadonlySet<ApiOperation> = new Set(['read', 'write']);

/** PKCS #8 prefix of a 32-octet Ed25519 seed (RFC 8410 §7). */
const PKCS8_HEAD = Buffer.from('302e020100300506032b657004220420', 'hex');

/** A session that a unit of work has begun. Times are milliseconds since the epoch. */
export interface NewSession {
  readonly sessionId: string;
  readonly userId: string;
  readonly issuedAt: number;
  readonly expiresAt: number;
  /** That signs then. */
  readonly key: JwtKeysTable;
}

interface Sessions {
  /**
   * Begins a session in the unit of work that proved who the user is. It acts for the user's own customer, whose row the unit holds from here on.
   * @throws AppError 401 for an account that is being deleted
   */
  begin(tx: Tx, userId: string, method: SignInMethod, requestId: string | null): Promise<NewSession>;
  /** The JWT of a session, once its unit of work is committed. It is not stored. */
  token(session: NewSession): Promise<string>;
  /** Returns null for a JWT that is forged, expired, signed out, or of a deleted user. */
  authenticate(token: string): Promise<Actor | null>;
  /** Waits for updates of `last_used_at` under way. */
  settle(): Promise<void>;
}

export interface HasSessions {
  readonly sessions: Sessions;
}

interface SessionDeps {
  readonly store: Store;
  readonly clock: Clock;
  readonly newId: () => string;
  readonly random?: Random;
}

/** The JWT identifies a session; the row says whether it is still valid. @param secret at least 32 octets */
export function openSessions(
  { store, clock, newId, random = realRandom }: SessionDeps,
  secret: Uint8Array,
): Sessions {
  if (secret.length < 32) throw new RangeError('the server secret has fewer than 32 bytes');
  const encryption = aesGcmEncryption(derive(secret, 'uqrp jwt keys v1'), random, 0);
  const signer = jwtSigner(openJwtKeys(store, encryption, random), earlierKey(secret), clock);
  const uses = lastUses(
    clock,
    (id, now, before) => store.write((tx) => touchSession(tx, id, now, before)),
    // Only the list of sessions shows it, and a database that fails is reported by the request itself.
    () => {},
  );
  return {
    async begin(tx, userId, method, requestId) {
      const issuedAt = clock();
      const sessionId = newId();
      // A JWT has whole seconds.
      const expiresAt = Math.floor((issuedAt + SESSION_LENGTH) / 1000) * 1000;
      // Two sign-ins at once would both take the last place, and one beside the deletion of the account would meet no user.
      if (!(await lockCustomer(tx, userId))) throw unauthenticated('Credentials are not valid');
      const ended = await trimSessions(tx, userId, issuedAt, LIMITS.sessionsPerUser - 1);
      await endTokensOfSessions(tx, ended, issuedAt);
      await insertSession(tx, {
        id: sessionId,
        user_id: userId,
        // A user's own customer has the user's id.
        customer_id: userId,
        created_at: issuedAt,
        expires_at: expiresAt,
        revoked_at: null,
        method,
      });
      const by = method === 'cli' ? BY_OPERATOR : byUser(userId, requestId);
      await auditFor(tx, userId, by, issuedAt, 'sign_in.done', audited.session(sessionId));
      return { sessionId, userId, issuedAt, expiresAt, key: await signer.keyIn(tx, issuedAt) };
    },
    token: (session) => signer.sign(session, session.issuedAt, session.key),
    async authenticate(token) {
      const claims = await signer.verify(token);
      if (claims === null) return null;
      const session = await findSession(store.read, claims.sessionId, clock());
      if (session === null || session.userId !== claims.userId) return null;
      uses.note(claims.sessionId, session.lastUsedAt);
      return {
        customerId: session.customerId,
        personId: session.userId,
        userId: session.userId,
        sessionId: claims.sessionId,
        role: session.role,
        tier: session.tier,
        via: 'session',
        apiKey: null,
        requestId: null,
        operations: EVERY_OPERATION,
        namespaces: null,
      };
    },
    settle: () => uses.settle(),
  };
}

/** The key with which releases before the table of keys signed. Their last token ends 12 hours after the upgrade. */
function earlierKey(secret: Uint8Array): KeyObject {
  const key = Buffer.concat([PKCS8_HEAD, derive(secret, 'uqrp customer jwt ed25519 v1')]);
  return createPublicKey(createPrivateKey({ key, format: 'der', type: 'pkcs8' }));
}

function derive(secret: Uint8Array, info: string): Buffer {
  return Buffer.from(hkdfSync('sha256', secret, new Uint8Array(0), info, 32));
}
