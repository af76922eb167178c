import { insertText, statement } from '../engine/statement.ts';
import type { PasskeysTable } from '../schema.ts';
import type { Db, Tx } from '../store.ts';

export type PasskeyRow = PasskeysTable;

const INSERT = statement<PasskeyRow>(
  insertText(
    'passkeys',
    'id, user_id, name, credential_id, public_key, sign_count, transports, backed_up, last_used_at, created_at',
    'on conflict (credential_id) do nothing',
  ),
);

/** @returns false when the credential is registered already, for any user */
export async function insertPasskey(tx: Tx, passkey: PasskeyRow): Promise<boolean> {
  return (await INSERT.run(tx, passkey)) > 0;
}

const LIST = statement<{ userId: string }, PasskeyRow>(
  'select * from passkeys where user_id = :userId order by created_at, id',
);

/** A user's passkeys, oldest first. */
export function listPasskeys(db: Db, userId: string): Promise<PasskeyRow[]> {
  return LIST.all(db, { userId });
}

const COUNT = statement<{ userId: string }, { count: number }>(
  'select count(*) as count from passkeys where user_id = :userId',
);

export async function countPasskeys(db: Db, userId: string): Promise<number> {
  return (await COUNT.first(db, { userId }))?.count ?? 0;
}

const FIND = statement<{ credentialId: string }, PasskeyRow>(
  'select * from passkeys where credential_id = :credentialId',
);

/** @param credentialId Base64url */
export function findPasskey(db: Db, credentialId: string): Promise<PasskeyRow | null> {
  return FIND.first(db, { credentialId });
}

/** What an authenticator says of itself with each signature. */
export interface PasskeyUse {
  /** 0: it does not count. */
  readonly signCount: number;
  readonly backedUp: boolean;
  readonly at: number;
}

const USE = statement<{ id: string; signCount: number; backedUp: number; at: number }>(
  `update passkeys set sign_count = :signCount, backed_up = :backedUp, last_used_at = :at
  where id = :id and (sign_count < :signCount or sign_count = 0 and :signCount = 0)`,
);

/**
 * Notes a sign-in. Of two sign-ins with one sign count, one is noted.
 * @returns false when the passkey is gone, or the sign count has not grown since the last sign-in
 */
export async function usePasskey(tx: Tx, id: string, use: PasskeyUse): Promise<boolean> {
  return (await USE.run(tx, { ...use, id, backedUp: use.backedUp ? 1 : 0 })) > 0;
}

const DELETE = statement<{ id: string; userId: string }>(
  'delete from passkeys where id = :id and user_id = :userId',
);

/** @returns false when the user has no such passkey */
export async function deletePasskey(tx: Tx, id: string, userId: string): Promise<boolean> {
  return (await DELETE.run(tx, { id, userId })) > 0;
}
