import { createPrivateKey, createPublicKey, hkdfSync, type KeyObject, randomBytes } from 'node:crypto';
import type { Clock } from '../../base/clock.ts';
import { LIMITS } from '../../base/limits.ts';
import { aesGcmEncryption } from '../../base/secret-encryption.ts';
import type { SignInMethod } from '../../store/schema.ts';
import type { Store, Tx } from '../../store/store.ts';
import { findSession, insertSession, touchSession, trimSessions } from '../../store/tables/sessions.ts';
import type { Actor, ApiOperation } from './actor.ts';
import { jwtSigner } from './jwt.ts';
import { openJwtKeys } from './jwt-keys.ts';
import { lastUses } from './last-use.ts';

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
}

export interface Sessions {
  /** Begins a session in the unit of work that proved who the user is. It acts for the user's own customer. */
  begin(tx: Tx, userId: string, method: SignInMethod): Promise<NewSession>;
  /** The JWT of a session, once its unit of work is committed. It is not stored. */
  token(session: NewSession): Promise<string>;
  /** Returns null for a JWT that is forged, expired, signed out, or of a deleted user. */
  authenticate(token: string): Promise<Actor | null>;
  /** Waits for updates of `last_used_at` under way. */
  settle(): Promise<void>;
}

interface SessionDeps {
  readonly store: Store;
  readonly clock: Clock;
  readonly newId: () => string;
}

/** The JWT identifies a session; the row says whether it is still valid. @param secret at least 32 octets */
export function openSessions({ store, clock, newId }: SessionDeps, secret: Uint8Array): Sessions {
  if (secret.length < 32) throw new RangeError('the server secret has fewer than 32 bytes');
  const encryption = aesGcmEncryption(derive(secret, 'uqrp jwt keys v1'), randomBytes, 0);
  const signer = jwtSigner(openJwtKeys(store, encryption), earlierKey(secret), clock);
  const uses = lastUses(
    clock,
    (id, now, before) => store.write((tx) => touchSession(tx, id, now, before)),
    // Only the list of sessions shows it, and a database that fails is reported by the request itself.
    () => {},
  );
  return {
    async begin(tx, userId, method) {
      const issuedAt = clock();
      const sessionId = newId();
      // A JWT has whole seconds.
      const expiresAt = Math.floor((issuedAt + SESSION_LENGTH) / 1000) * 1000;
      await trimSessions(tx, userId, issuedAt, LIMITS.sessionsPerUser - 1);
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
      return { sessionId, userId, issuedAt, expiresAt };
    },
    token: (session) => signer.sign(session, session.issuedAt),
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
