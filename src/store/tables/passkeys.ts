import type { PasskeysTable } from '../schema.ts';
import type { Db, Tx } from '../store.ts';

export type PasskeyRow = PasskeysTable;

/** @returns false when the credential is registered already, for any user */
export async function insertPasskey(tx: Tx, passkey: PasskeyRow): Promise<boolean> {
  const row = await tx
    .insertInto('passkeys')
    .values(passkey)
    .onConflict((conflict) => conflict.column('credential_id').doNothing())
    .returning('id')
    .executeTakeFirst();
  return row !== undefined;
}

/** A user's passkeys, oldest first. */
export function listPasskeys(db: Db, userId: string): Promise<PasskeyRow[]> {
  return db
    .selectFrom('passkeys')
    .selectAll()
    .where('user_id', '=', userId)
    .orderBy('created_at')
    .orderBy('id')
    .execute();
}

export async function countPasskeys(db: Db, userId: string): Promise<number> {
  const { count } = await db
    .selectFrom('passkeys')
    .select((passkey) => passkey.fn.countAll<number>().as('count'))
    .where('user_id', '=', userId)
    .executeTakeFirstOrThrow();
  return count;
}

/** @param credentialId Base64url */
export async function findPasskey(db: Db, credentialId: string): Promise<PasskeyRow | null> {
  const row = await db
    .selectFrom('passkeys')
    .selectAll()
    .where('credential_id', '=', credentialId)
    .executeTakeFirst();
  return row ?? null;
}

/** What an authenticator says of itself with each signature. */
export interface PasskeyUse {
  /** 0: it does not count. */
  readonly signCount: number;
  readonly backedUp: boolean;
  readonly at: number;
}

/**
 * Notes a sign-in. Of two sign-ins with one sign count, one is noted.
 * @returns false when the passkey is gone, or the sign count has not grown since the last sign-in
 */
export async function usePasskey(tx: Tx, id: string, use: PasskeyUse): Promise<boolean> {
  const row = await tx
    .updateTable('passkeys')
    .set({ sign_count: use.signCount, backed_up: use.backedUp ? 1 : 0, last_used_at: use.at })
    .where('id', '=', id)
    .where((passkey) =>
      use.signCount === 0 ? passkey('sign_count', '=', 0) : passkey('sign_count', '<', use.signCount),
    )
    .returning('id')
    .executeTakeFirst();
  return row !== undefined;
}

/** @returns false when the user has no such passkey */
export async function deletePasskey(tx: Tx, id: string, userId: string): Promise<boolean> {
  const row = await tx
    .deleteFrom('passkeys')
    .where('id', '=', id)
    .where('user_id', '=', userId)
    .returning('id')
    .executeTakeFirst();
  return row !== undefined;
}
