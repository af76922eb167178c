import type { Insertable, Selectable } from 'kysely';
import type { Tier } from '../../base/tiers.ts';
import { statement } from '../engine/statement.ts';
import { markWork } from '../engine/unit-marks.ts';
import type { MemberRole, SessionsTable } from '../schema.ts';
import type { Db, Tx } from '../store.ts';

export type SessionRow = Selectable<SessionsTable>;

/** The user behind a session that still counts, and the customer that it acts for. */
export interface LiveSession {
  readonly userId: string;
  readonly customerId: string;
  readonly role: MemberRole;
  readonly tier: Tier;
  readonly lastUsedAt: number | null;
}

export async function insertSession(tx: Tx, session: Insertable<SessionsTable>): Promise<void> {
  await tx.insertInto('sessions').values(session).execute();
}

const FIND_SESSION = statement<{ id: string; now: number }, LiveSession>(
  // A user who belongs to the customer no longer has no session for it.
  `select sessions.user_id as "userId", customers.id as "customerId", memberships.role, customers.tier,
    sessions.last_used_at as "lastUsedAt"
  from sessions join customers on customers.id = sessions.customer_id
  join memberships on memberships.customer_id = sessions.customer_id and memberships.user_id = sessions.user_id
  where sessions.id = :id and sessions.revoked_at is null and sessions.expires_at > :now and customers.closing = 0`,
);

/** A session that is neither revoked nor past its end at `now`. Looked up for every request that a session authenticates. */
export async function findSession(db: Db, id: string, now: number): Promise<LiveSession | null> {
  const { rows } = await FIND_SESSION(db, { id, now });
  return rows[0] ?? null;
}

/** A user's sessions that count at `now`, newest first. */
export function listSessions(db: Db, userId: string, now: number): Promise<SessionRow[]> {
  return db
    .selectFrom('sessions')
    .selectAll()
    .where('user_id', '=', userId)
    .where('revoked_at', 'is', null)
    .where('expires_at', '>', now)
    .orderBy('created_at', 'desc')
    .orderBy('id', 'desc')
    .execute();
}

const TOUCH = statement<{ id: string; now: number; before: number }>(
  'update sessions set last_used_at = :now where id = :id and (last_used_at is null or last_used_at <= :before)',
);

/** Notes a use, unless one later than `before` is noted already. */
export async function touchSession(tx: Tx, id: string, now: number, before: number): Promise<void> {
  await TOUCH(tx, { id, now, before });
}

/** Ends a session of the user. @returns false when there is none that counts */
export async function revokeSession(tx: Tx, id: string, userId: string, now: number): Promise<boolean> {
  const row = await tx
    .updateTable('sessions')
    .set({ revoked_at: now })
    .where('id', '=', id)
    .where('user_id', '=', userId)
    .where('revoked_at', 'is', null)
    .where('expires_at', '>', now)
    .returning('id')
    .executeTakeFirst();
  if (row !== undefined) markWork(tx, 'credentials');
  return row !== undefined;
}

/** Ends every session of the user. @returns how many counted */
export async function revokeSessions(tx: Tx, userId: string, now: number): Promise<number> {
  const rows = await tx
    .updateTable('sessions')
    .set({ revoked_at: now })
    .where('user_id', '=', userId)
    .where('revoked_at', 'is', null)
    .where('expires_at', '>', now)
    .returning('id')
    .execute();
  if (rows.length > 0) markWork(tx, 'credentials');
  return rows.length;
}

/** Deletes a user's sessions that have ended, and the oldest of the rest, so that at most `most` are left. */
export async function trimSessions(tx: Tx, userId: string, now: number, most: number): Promise<void> {
  await tx
    .deleteFrom('sessions')
    .where('user_id', '=', userId)
    .where((session) => session.or([session('expires_at', '<=', now), session('revoked_at', 'is not', null)]))
    .execute();
  const kept = await tx
    .selectFrom('sessions')
    .select('id')
    .where('user_id', '=', userId)
    .orderBy('created_at', 'desc')
    .orderBy('id', 'desc')
    .offset(most)
    .limit(most)
    .execute();
  const old = kept.map(({ id }) => id);
  if (old.length > 0) await tx.deleteFrom('sessions').where('id', 'in', old).execute();
}
