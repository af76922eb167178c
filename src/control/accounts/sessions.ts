import type { Clock } from '../../core/clock.ts';
import type { Store, Tx } from '../store/store.ts';
import { deleteEndedSessions, findSession, insertSession, revokeSession } from '../store/tables/sessions.ts';
import type { Actor, ApiOperation } from './actor.ts';
import { jwtSigner } from './jwt.ts';

/** Milliseconds: 12 hours. */
export const SESSION_LENGTH = 12 * 3_600_000;

const EVERY_OPERATION: ReadonlySet<ApiOperation> = new Set(['read', 'write']);

/** A new session. The token is not stored. */
export interface IssuedToken {
  readonly token: string;
  readonly sessionId: string;
  /** Milliseconds since the epoch. */
  readonly expiresAt: number;
}

export interface Sessions {
  begin(tx: Tx, customerId: string): Promise<IssuedToken>;
  /** Returns null for a JWT that is forged, expired, signed out, or of a deleted customer. */
  authenticate(token: string): Promise<Actor | null>;
  end(sessionId: string): Promise<void>;
}

interface SessionDeps {
  readonly store: Store;
  readonly clock: Clock;
  readonly newId: () => string;
}

/** The JWT identifies a session; the row says whether it is still valid. @param secret at least 32 octets */
export function openSessions({ store, clock, newId }: SessionDeps, secret: Uint8Array): Sessions {
  const signer = jwtSigner(secret, clock);
  return {
    async begin(tx, customerId) {
      const now = clock();
      const sessionId = newId();
      // A JWT has whole seconds.
      const expiresAt = Math.floor((now + SESSION_LENGTH) / 1000) * 1000;
      await deleteEndedSessions(tx, customerId, now);
      await insertSession(tx, {
        id: sessionId,
        user_id: customerId,
        created_at: now,
        expires_at: expiresAt,
        revoked_at: null,
      });
      const token = await signer.sign({ customerId, sessionId, expiresAt }, now);
      return { token, sessionId, expiresAt };
    },
    async authenticate(token) {
      const claims = await signer.verify(token);
      if (claims === null) return null;
      const session = await findSession(store.read, claims.sessionId, clock());
      if (session === null || session.userId !== claims.customerId) return null;
      return {
        customerId: session.userId,
        tier: session.tier,
        via: 'session',
        operations: EVERY_OPERATION,
        namespaces: null,
      };
    },
    end: (sessionId) => store.write((tx) => revokeSession(tx, sessionId, clock())),
  };
}
