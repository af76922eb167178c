import { insertText, listStatement, statement } from './engine/statement.ts';
import type { Db, Tx } from './store.ts';

export interface QueryTokenRow {
  id: string;
  namespace_id: string;
  name: string;
  /** Lower-case hex SHA-256, unique. */
  digest: string;
  expires_at: number;
  revoked_at: number | null;
  created_at: number;
  /** The user whose session minted it; null: an API key or the operator. */
  created_by: string | null;
  /** The session that it ends with; null: it ends by itself or by a revocation alone. */
  session_id: string | null;
}

const INSERT = statement<QueryTokenRow>(
  insertText(
    'query_tokens',
    'id, namespace_id, name, digest, expires_at, revoked_at, created_at, created_by, session_id',
  ),
);

export async function insertQueryToken(tx: Tx, token: QueryTokenRow): Promise<void> {
  await INSERT.run(tx, token);
}

const LIST = statement<{ namespaceId: string }, QueryTokenRow>(
  'select * from query_tokens where namespace_id = :namespaceId order by created_at, id',
);

/** A namespace's tokens, oldest first, ended ones included. */
export function listQueryTokens(db: Db, namespaceId: string): Promise<QueryTokenRow[]> {
  return LIST.all(db, { namespaceId });
}

const LIST_LIVE = statement<{ namespaceId: string; now: number }, QueryTokenRow>(
  `select * from query_tokens
  where namespace_id = :namespaceId and revoked_at is null and expires_at > :now`,
);

/** Tokens that still open the namespace at `now`. */
export function liveQueryTokens(db: Db, namespaceId: string, now: number): Promise<QueryTokenRow[]> {
  return LIST_LIVE.all(db, { namespaceId, now });
}

export type EndingToken = QueryTokenRow & { readonly namespace: string };

interface EndingFilter {
  readonly customerId: string;
  readonly now: number;
  readonly before: number;
  readonly limit: number;
}

const LIVE_IN = `namespaces.customer_id = :customerId and namespaces.closing = 0 and query_tokens.revoked_at is null
    and query_tokens.expires_at > :now and query_tokens.expires_at < :before and query_tokens.session_id is null`;
const SOONEST = 'order by query_tokens.expires_at, query_tokens.id limit :limit';
const ENDING = `select query_tokens.*, namespaces.name as namespace
  from namespaces join query_tokens on query_tokens.namespace_id = namespaces.id where ${LIVE_IN}`;
const LIST_ENDING = statement<EndingFilter, EndingToken>(`${ENDING} ${SOONEST}`);
const LIST_ENDING_IN = listStatement<EndingFilter & { ids: readonly string[] }, EndingToken>(
  `${ENDING} and namespaces.name in (:ids) ${SOONEST}`,
  'text',
);

/**
 * Live tokens of a customer that end before `before`, the soonest first, without those of sessions.
 * @param names of the namespaces; null: all of the customer
 */
export function listEndingTokens(
  db: Db,
  filter: EndingFilter,
  names: readonly string[] | null,
): Promise<EndingToken[]> {
  return names === null ? LIST_ENDING.all(db, filter) : LIST_ENDING_IN.all(db, { ...filter, ids: names });
}

type NamedToken = Pick<QueryTokenRow, 'id' | 'name' | 'digest'>;

const REVOKE = statement<{ id: string; namespaceId: string; now: number }, NamedToken>(
  `update query_tokens set revoked_at = :now
  where id = :id and namespace_id = :namespaceId and revoked_at is null returning id, name, digest`,
);
const FIND = statement<{ id: string; namespaceId: string }, NamedToken>(
  'select id, name, digest from query_tokens where id = :id and namespace_id = :namespaceId',
);

/** @returns the token, and whether it was this call that revoked it; null when the namespace has no such token */
export async function revokeQueryToken(
  tx: Tx,
  id: string,
  namespaceId: string,
  now: number,
): Promise<(NamedToken & { readonly changed: boolean }) | null> {
  const revoked = await REVOKE.first(tx, { id, namespaceId, now });
  if (revoked !== null) return { ...revoked, changed: true };
  const known = await FIND.first(tx, { id, namespaceId });
  return known && { ...known, changed: false };
}

/** How far a clock may be wrong, milliseconds. */
const CLOCK_WRONG = 86_400_000;

/**
 * Tokens that ended by then have ended by every clock: nodes refuse them by their own. Until then they are revoked where their rights end, and
 * are in snapshots: were they left out at their end, a control process whose clock is ahead would leave out tokens that nodes still honour.
 */
export function endedBy(now: number): number {
  return now - CLOCK_WRONG;
}

const LIVE_OF = statement<
  { customerId: string; userId: string; ended: number; limit: number },
  { id: string; digest: string; namespace: string }
>(
  `select query_tokens.id, query_tokens.digest, namespaces.name as namespace
  from query_tokens join namespaces on namespaces.id = query_tokens.namespace_id
  where query_tokens.created_by = :userId and namespaces.customer_id = :customerId and namespaces.closing = 0
    and query_tokens.revoked_at is null and query_tokens.expires_at > :ended limit :limit`,
);
const REVOKE_ALL = listStatement<{ ids: readonly string[]; now: number }>(
  'update query_tokens set revoked_at = :now where id in (:ids)',
  'text',
);

/**
 * Revokes up to `limit` tokens that a user made in the customer's namespaces, unless they ended long ago.
 * @returns what the log tells of each
 */
export async function revokeTokensOf(
  tx: Tx,
  customerId: string,
  userId: string,
  now: number,
  limit: number,
): Promise<{ readonly namespace: string; readonly digest: string }[]> {
  const live = await LIVE_OF.all(tx, { customerId, userId, ended: endedBy(now), limit });
  if (live.length > 0) await REVOKE_ALL.run(tx, { ids: live.map(({ id }) => id), now });
  return live.map(({ namespace, digest }) => ({ namespace, digest }));
}

const LIVE_OF_SESSIONS = listStatement<
  { ids: readonly string[]; ended: number; limit: number },
  { id: string; digest: string; namespace: string; owner: string }
>(
  `select query_tokens.id, query_tokens.digest, namespaces.name as namespace, namespaces.customer_id as owner
  from query_tokens join namespaces on namespaces.id = query_tokens.namespace_id
  where query_tokens.session_id in (:ids) and namespaces.closing = 0
    and query_tokens.revoked_at is null and query_tokens.expires_at > :ended limit :limit`,
  'text',
);

/**
 * Revokes up to `limit` tokens of sessions, in whichever customer's namespaces, unless they ended long ago.
 * @returns what the log tells of each
 */
export async function revokeTokensOfSessions(
  tx: Tx,
  sessionIds: readonly string[],
  now: number,
  limit: number,
): Promise<{ readonly namespace: string; readonly digest: string; readonly owner: string }[]> {
  const live = await LIVE_OF_SESSIONS.all(tx, { ids: sessionIds, ended: endedBy(now), limit });
  if (live.length > 0) await REVOKE_ALL.run(tx, { ids: live.map(({ id }) => id), now });
  return live.map(({ namespace, digest, owner }) => ({ namespace, digest, owner }));
}

interface Forgotten {
  readonly namespaceId: string;
  /** Those that ended, by revocation or expiry, before this time. */
  readonly before: number;
  /** And those that ended and are not among so many of the newest tokens. */
  readonly newest: number;
  readonly limit: number;
}

const FORGET = statement<Forgotten & { ended: number }>(
  `delete from query_tokens where id in (
    select id from query_tokens where namespace_id = :namespaceId and (revoked_at < :before or expires_at < :before
      or (revoked_at is not null or expires_at <= :ended) and (created_at, id) <= (
        select created_at, id from query_tokens where namespace_id = :namespaceId
        order by created_at desc, id desc limit 1 offset :newest))
    limit :limit)`,
);

/** Forgets up to `limit` ended tokens of a namespace. */
export async function forgetEndedTokens(tx: Tx, forgotten: Forgotten, now: number): Promise<void> {
  await FORGET.run(tx, { ...forgotten, ended: endedBy(now) });
}

const DELETE_SOME = statement<{ namespaceId: string; limit: number }>(
  `delete from query_tokens where id in (
    select id from query_tokens where namespace_id = :namespaceId limit :limit)`,
);

/** Deletes up to `limit` tokens of a namespace. @returns how many there were */
export function deleteSomeTokens(tx: Tx, namespaceId: string, limit: number): Promise<number> {
  return DELETE_SOME.run(tx, { namespaceId, limit });
}
