import type { Insertable } from 'kysely';
import type { Tier } from '../../../core/tiers.ts';
import type { SessionsTable } from '../schema.ts';
import type { Db, Tx } from '../store.ts';

/** The customer behind a session that still counts. */
export interface LiveSession {
  readonly userId: string;
  readonly tier: Tier;
}

export async function insertSession(tx: Tx, session: Insertable<SessionsTable>): Promise<void> {
  await tx.insertInto('sessions').values(session).execute();
}

/** A session that is neither revoked nor past its end at `now`. */
export async function findSession(db: Db, id: string, now: number): Promise<LiveSession | null> {
  const row = await db
    .selectFrom('sessions')
    .innerJoin('users', 'users.id', 'sessions.user_id')
    .select(['users.id as userId', 'users.tier'])
    .where('sessions.id', '=', id)
    .where('sessions.revoked_at', 'is', null)
    .where('sessions.expires_at', '>', now)
    .executeTakeFirst();
  return row ?? null;
}

export async function revokeSession(tx: Tx, id: string, now: number): Promise<void> {
  await tx
    .updateTable('sessions')
    .set({ revoked_at: now })
    .where('id', '=', id)
    .where('revoked_at', 'is', null)
    .execute();
}

/** Deletes a customer's sessions that are past their end. */
export async function deleteEndedSessions(tx: Tx, userId: string, now: number): Promise<void> {
  await tx.deleteFrom('sessions').where('user_id', '=', userId).where('expires_at', '<=', now).execute();
}
