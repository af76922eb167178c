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
