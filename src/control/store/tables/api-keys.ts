import type { Insertable } from 'kysely';
import type { Tier } from '../../../core/tiers.ts';
import type { ApiKeysTable } from '../schema.ts';
import type { Db, Tx } from '../store.ts';

export type ApiKeyRow = ApiKeysTable;

/** A key that still counts, with the tier of its customer. */
export interface LiveApiKey extends ApiKeyRow {
  readonly tier: Tier;
}

export async function insertApiKey(tx: Tx, key: Insertable<ApiKeysTable>): Promise<void> {
  await tx.insertInto('api_keys').values(key).execute();
}

/** The key with this digest, unless it is past its expiry at `now`. */
export async function findLiveApiKey(db: Db, digest: string, now: number): Promise<LiveApiKey | null> {
  const row = await db
    .selectFrom('api_keys')
    .innerJoin('users', 'users.id', 'api_keys.user_id')
    .selectAll('api_keys')
    .select('users.tier')
    .where('api_keys.digest', '=', digest)
    .where((key) => key.or([key('api_keys.expires_at', 'is', null), key('api_keys.expires_at', '>', now)]))
    .executeTakeFirst();
  return row ?? null;
}

/** A customer's keys, oldest first. */
export function listApiKeys(db: Db, userId: string): Promise<ApiKeyRow[]> {
  return db
    .selectFrom('api_keys')
    .selectAll()
    .where('user_id', '=', userId)
    .orderBy('created_at')
    .orderBy('id')
    .execute();
}

export async function countApiKeys(db: Db, userId: string): Promise<number> {
  const { count } = await db
    .selectFrom('api_keys')
    .select((key) => key.fn.countAll<number>().as('count'))
    .where('user_id', '=', userId)
    .executeTakeFirstOrThrow();
  return count;
}

/** @returns false when the customer has no such key */
export async function deleteApiKey(tx: Tx, id: string, userId: string): Promise<boolean> {
  const row = await tx
    .deleteFrom('api_keys')
    .where('id', '=', id)
    .where('user_id', '=', userId)
    .returning('id')
    .executeTakeFirst();
  return row !== undefined;
}

/** Notes a use, unless one later than `before` is noted already. */
export async function touchApiKey(tx: Tx, id: string, now: number, before: number): Promise<void> {
  await tx
    .updateTable('api_keys')
    .set({ last_used_at: now })
    .where('id', '=', id)
    .where((key) => key.or([key('last_used_at', 'is', null), key('last_used_at', '<=', before)]))
    .execute();
}
