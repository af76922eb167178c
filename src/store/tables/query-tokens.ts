import type { Insertable } from 'kysely';
import type { QueryTokensTable } from '../schema.ts';
import type { Db, Tx } from '../store.ts';

export type QueryTokenRow = QueryTokensTable;

export async function insertQueryToken(tx: Tx, token: Insertable<QueryTokensTable>): Promise<void> {
  await tx.insertInto('query_tokens').values(token).execute();
}

/** A namespace's tokens, oldest first, ended ones included. */
export function listQueryTokens(db: Db, namespaceId: string): Promise<QueryTokenRow[]> {
  return db
    .selectFrom('query_tokens')
    .selectAll()
    .where('namespace_id', '=', namespaceId)
    .orderBy('created_at')
    .orderBy('id')
    .execute();
}

/** Tokens that still open the namespace at `now`. */
export function liveQueryTokens(db: Db, namespaceId: string, now: number): Promise<QueryTokenRow[]> {
  return db
    .selectFrom('query_tokens')
    .selectAll()
    .where('namespace_id', '=', namespaceId)
    .where('revoked_at', 'is', null)
    .where('expires_at', '>', now)
    .execute();
}

/** @returns the token, and whether it was this call that revoked it; null when the namespace has no such token */
export async function revokeQueryToken(
  tx: Tx,
  id: string,
  namespaceId: string,
  now: number,
): Promise<{ readonly digest: string; readonly changed: boolean } | null> {
  const revoked = await tx
    .updateTable('query_tokens')
    .set({ revoked_at: now })
    .where('id', '=', id)
    .where('namespace_id', '=', namespaceId)
    .where('revoked_at', 'is', null)
    .returning('digest')
    .executeTakeFirst();
  if (revoked !== undefined) return { digest: revoked.digest, changed: true };
  const known = await tx
    .selectFrom('query_tokens')
    .select('digest')
    .where('id', '=', id)
    .where('namespace_id', '=', namespaceId)
    .executeTakeFirst();
  return known === undefined ? null : { digest: known.digest, changed: false };
}

/**
 * Revokes up to `limit` live tokens that a user made in the customer's namespaces.
 * @returns what the log tells of each
 */
export async function revokeTokensOf(
  tx: Tx,
  customerId: string,
  userId: string,
  now: number,
  limit: number,
): Promise<{ readonly namespace: string; readonly digest: string }[]> {
  const live = await tx
    .selectFrom('query_tokens')
    .innerJoin('namespaces', 'namespaces.id', 'query_tokens.namespace_id')
    .select(['query_tokens.id', 'query_tokens.digest', 'namespaces.name as namespace'])
    .where('query_tokens.created_by', '=', userId)
    .where('namespaces.customer_id', '=', customerId)
    .where('namespaces.closing', '=', 0)
    .where('query_tokens.revoked_at', 'is', null)
    .where('query_tokens.expires_at', '>', now)
    .limit(limit)
    .execute();
  if (live.length === 0) return [];
  await tx
    .updateTable('query_tokens')
    .set({ revoked_at: now })
    .where(
      'id',
      'in',
      live.map(({ id }) => id),
    )
    .execute();
  return live.map(({ namespace, digest }) => ({ namespace, digest }));
}

/** Forgets a namespace's tokens that ended, by revocation or expiry, before `before`. */
export async function forgetEndedTokens(tx: Tx, namespaceId: string, before: number): Promise<void> {
  await tx
    .deleteFrom('query_tokens')
    .where('namespace_id', '=', namespaceId)
    .where((token) => token.or([token('revoked_at', '<', before), token('expires_at', '<', before)]))
    .execute();
}

/** Deletes up to `limit` tokens of a namespace. @returns how many there were */
export async function deleteSomeTokens(tx: Tx, namespaceId: string, limit: number): Promise<number> {
  const { numDeletedRows } = await tx
    .deleteFrom('query_tokens')
    .where('id', 'in', (token) =>
      token.selectFrom('query_tokens').select('id').where('namespace_id', '=', namespaceId).limit(limit),
    )
    .executeTakeFirstOrThrow();
  return Number(numDeletedRows);
}
