import { notFound } from '../../base/errors.ts';
import { formatTime } from '../../base/text/time.ts';
import { resourceSchema, TIME, TIME_OR_NULL, UUID } from '../../protocol/input/schema.ts';
import { foldCase } from '../../protocol/names/labels.ts';
import type { SignInMethod } from '../../store/schema.ts';
import type { Db } from '../../store/store.ts';
import { listSessions, revokeSession, revokeSessions, type SessionRow } from '../../store/tables/sessions.ts';
import { findUserByEmail } from '../../store/tables/users.ts';
import { type Actor, requireSession } from './actor.ts';
import type { HasClock, HasStore } from './deps.ts';

export interface SessionResource {
  readonly id: string;
  readonly method: SignInMethod;
  /** The session that the request came with. */
  readonly current: boolean;
  readonly created_at: string;
  readonly last_used_at: string | null;
  readonly expires_at: string;
}

export const SESSION_SCHEMA = resourceSchema<SessionResource>('Session', {
  id: UUID,
  method: { type: 'string', enum: ['code', 'passkey', 'cli'] },
  current: { type: 'boolean', description: 'The session of this request' },
  created_at: TIME,
  last_used_at: { ...TIME_OR_NULL, description: 'At most a minute behind' },
  expires_at: TIME,
});

type Deps = HasStore & HasClock;

function sessionResource(row: SessionRow, currentId: string | null): SessionResource {
  return {
    id: row.id,
    method: row.method,
    current: row.id === currentId,
    created_at: formatTime(row.created_at),
    last_used_at: row.last_used_at === null ? null : formatTime(row.last_used_at),
    expires_at: formatTime(row.expires_at),
  };
}

/** Newest first. @throws AppError 403 for an API key */
export async function listOwnSessions({ store, clock }: Deps, actor: Actor): Promise<SessionResource[]> {
  requireSession(actor);
  const rows = await listSessions(store.read, actor.userId, clock());
  return rows.map((row) => sessionResource(row, actor.sessionId));
}

/** Signs out one session at once. @throws AppError 403 for an API key; 404 */
export async function endOwnSession({ store, clock }: Deps, actor: Actor, id: string): Promise<void> {
  requireSession(actor);
  const ended = await store.write((tx) => revokeSession(tx, id, actor.userId, clock()));
  if (!ended) throw notFound('Session');
}

/** Signs out the session of the request. @throws AppError 403 for an API key */
export async function signOut({ store, clock }: Deps, actor: Actor): Promise<void> {
  requireSession(actor);
  await store.write((tx) => revokeSession(tx, actor.sessionId, actor.userId, clock()));
}

/** Signs out everywhere, the session of the request included. @throws AppError 403 for an API key */
export async function endOwnSessions({ store, clock }: Deps, actor: Actor): Promise<void> {
  requireSession(actor);
  await store.write((tx) => revokeSessions(tx, actor.userId, clock()));
}

/** For the operator: a user's sessions, newest first. @throws AppError 404 */
export async function sessionsOf({ store, clock }: Deps, email: string): Promise<SessionResource[]> {
  const rows = await listSessions(store.read, await userIdOf(store.read, email), clock());
  return rows.map((row) => sessionResource(row, null));
}

/** For the operator: signs a user out everywhere. @returns how many sessions ended. @throws AppError 404 */
export async function endSessionsOf({ store, clock }: Deps, email: string): Promise<number> {
  return store.write(async (tx) => revokeSessions(tx, await userIdOf(tx, email), clock()));
}

async function userIdOf(db: Db, email: string): Promise<string> {
  const user = await findUserByEmail(db, foldCase(email.trim()));
  if (user === null) throw notFound('User');
  return user.id;
}
