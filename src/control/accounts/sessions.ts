import type { Clock } from '../../core/clock.ts';
import type { Store, Tx } from '../store/store.ts';
import { deleteEndedSessions, findSession, insertSession, revokeSession } from '../store/tables/sessions.ts';
import type { Actor, ApiOperation } from './actor.ts';
import { jwtSigner } from './jwt.ts';

/** A customer JWT is good for 12 hours. */
export const SESSION_LENGTH = 12 * 3_600_000;

const EVERY_OPERATION: ReadonlySet<ApiOperation> = new Set(['read', 'write']);

/** A session just begun; the token is shown to the customer and kept nowhere. */
export interface IssuedToken {
  readonly token: string;
  readonly sessionId: string;
  /** Milliseconds since the epoch. */
  readonly expiresAt: number;
}

export interface Sessions {
  /** Begins a session for a customer within a unit of work. */
  begin(tx: Tx, customerId: string): Promise<IssuedToken>;
  /** The actor behind a JWT, or null: forged, past its end, signed out, or of a customer who is gone. */
  authenticate(token: string): Promise<Actor | null>;
  /** Ends a session at once. */
  end(sessionId: string): Promise<void>;
}

interface SessionDeps {
  readonly store: Store;
  readonly clock: Clock;
  readonly newId: () => string;
}

/**
 * Sign-ins as rows: the JWT proves who it was issued to, the row says whether it still counts.
 *
 * @param secret the server's secret, at least 32 bytes
 */
export function openSessions({ store, clock, newId }: SessionDeps, secret: Uint8Array): Sessions {
  const signer = jwtSigner(secret, clock);
  return {
    async begin(tx, customerId) {
      const now = clock();
      const sessionId = newId();
      // Whole seconds, as the JWT spells it.
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
