import type { Tier } from '../../base/tiers.ts';
import { insertText, statement } from '../engine/statement.ts';
import { markWork } from '../engine/unit-marks.ts';
import type { MemberRole, SessionsTable } from '../schema.ts';
import type { Db, Tx } from '../store.ts';

export type SessionRow = SessionsTable;

type NewSession = Omit<SessionRow, 'last_used_at'>;

/** The user behind a session that still counts, and the customer that it acts for. */
export interface LiveSession {
  readonly userId: string;
  readonly customerId: string;
  readonly role: MemberRole;
  readonly tier: Tier;
  readonly lastUsedAt: number | null;
}

const INSERT = statement<NewSession>(
  insertText('sessions', 'id, user_id, customer_id, created_at, expires_at, revoked_at, method'),
);

export async function insertSession(tx: Tx, session: NewSession): Promise<void> {
  await INSERT.run(tx, session);
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
  const rows = await FIND_SESSION.all(db, { id, now });
  return rows[0] ?? null;
}

const LIST = statement<{ userId: string; now: number }, SessionRow>(
  `select * from sessions where user_id = :userId and revoked_at is null and expires_at > :now
  order by created_at desc, id desc`,
);

/** A user's sessions that count at `now`, newest first. */
export function listSessions(db: Db, userId: string, now: number): Promise<SessionRow[]> {
  return LIST.all(db, { userId, now });
}

const TOUCH = statement<{ id: string; now: number; before: number }>(
  'update sessions set last_used_at = :now where id = :id and (last_used_at is null or last_used_at <= :before)',
);

/** Notes a use, unless one later than `before` is noted already. */
export async function touchSession(tx: Tx, id: string, now: number, before: number): Promise<void> {
  await TOUCH.run(tx, { id, now, before });
}

const REVOKE = statement<{ id: string; userId: string; now: number }>(
  `update sessions set revoked_at = :now
  where id = :id and user_id = :userId and revoked_at is null and expires_at > :now`,
);

/** Ends a session of the user. @returns false when there is none that counts */
export async function revokeSession(tx: Tx, id: string, userId: string, now: number): Promise<boolean> {
  const isRevoked = (await REVOKE.run(tx, { id, userId, now })) > 0;
  if (isRevoked) markWork(tx, 'credentials');
  return isRevoked;
}

const REVOKE_ALL = statement<{ userId: string; now: number }>(
  'update sessions set revoked_at = :now where user_id = :userId and revoked_at is null and expires_at > :now',
);

/** Ends every session of the user. @returns how many counted */
export async function revokeSessions(tx: Tx, userId: string, now: number): Promise<number> {
  const revoked = await REVOKE_ALL.run(tx, { userId, now });
  if (revoked > 0) markWork(tx, 'credentials');
  return revoked;
}

const DELETE_ENDED = statement<{ userId: string; now: number }>(
  'delete from sessions where user_id = :userId and (expires_at <= :now or revoked_at is not null)',
);
const DELETE_OLDEST = statement<{ userId: string; most: number }>(
  `delete from sessions where user_id = :userId and id not in (
    select id from sessions where user_id = :userId order by created_at desc, id desc limit :most)`,
);

/** Deletes a user's sessions that have ended, and the oldest of the rest, so that at most `most` are left. */
export async function trimSessions(tx: Tx, userId: string, now: number, most: number): Promise<void> {
  await DELETE_ENDED.run(tx, { userId, now });
  await DELETE_OLDEST.run(tx, { userId, most });
}
