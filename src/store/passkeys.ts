import { insertText, statement } from './engine/statement.ts';
import type { Db, Tx } from './store.ts';

/** Public keys with which a user signs in. */
export interface PasskeyRow {
  id: string;
  user_id: string;
  name: string;
  /** Base64url, unique over all users. */
  credential_id: string;
  /** COSE key (RFC 9052 §7). */
  public_key: Uint8Array;
  /** The authenticator's count at the last sign-in; 0: it does not count. */
  sign_count: number;
  /** JSON array of how a browser reaches the authenticator (WebAuthn §5.8.4). */
  transports: string;
  backed_up: number;
  last_used_at: number | null;
  created_at: number;
}

/** Challenges that a passkey was added or signed in with. They are void although they have not ended. */
export interface UsedChallengesTable {
  /** Lower-case hex SHA-256. */
  digest: string;
  user_id: string;
  expires_at: number;
}

const INSERT_PASSKEY = statement<PasskeyRow>(
  insertText(
    'passkeys',
    'id, user_id, name, credential_id, public_key, sign_count, transports, backed_up, last_used_at, created_at',
    'on conflict (credential_id) do nothing',
  ),
);

/** @returns false when the credential is registered already, for any user */
export async function insertPasskey(tx: Tx, passkey: PasskeyRow): Promise<boolean> {
  return (await INSERT_PASSKEY.run(tx, passkey)) > 0;
}

const LIST = statement<{ userId: string }, PasskeyRow>(
  'select * from passkeys where user_id = :userId order by created_at, id',
);

/** A user's passkeys, oldest first. */
export function listPasskeys(db: Db, userId: string): Promise<PasskeyRow[]> {
  return LIST.all(db, { userId });
}

const COUNT_PASSKEY = statement<{ userId: string }, { count: number }>(
  'select count(*) as count from passkeys where user_id = :userId',
);

export async function countPasskeys(db: Db, userId: string): Promise<number> {
  return (await COUNT_PASSKEY.first(db, { userId }))?.count ?? 0;
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

type DeletedPasskey = Pick<PasskeyRow, 'id' | 'name'>;

const DELETE = statement<{ id: string; userId: string }, DeletedPasskey>(
  'delete from passkeys where id = :id and user_id = :userId returning id, name',
);

/** @returns null when the user has no such passkey */
export function deletePasskey(tx: Tx, id: string, userId: string): Promise<DeletedPasskey | null> {
  return DELETE.first(tx, { id, userId });
}

const INSERT_CHALLENGE = statement<UsedChallengesTable>(
  insertText('used_challenges', 'digest, user_id, expires_at', 'on conflict (digest) do nothing'),
);

/** @returns false when the challenge was used before, in any process */
export async function insertUsedChallenge(tx: Tx, challenge: UsedChallengesTable): Promise<boolean> {
  return (await INSERT_CHALLENGE.run(tx, challenge)) > 0;
}

const COUNT_CHALLENGE = statement<{ userId: string; now: number }, { count: number }>(
  'select count(*) as count from used_challenges where user_id = :userId and expires_at > :now',
);

/** A user's used challenges that end after `now`. */
export async function countUsedChallenges(db: Db, userId: string, now: number): Promise<number> {
  return (await COUNT_CHALLENGE.first(db, { userId, now }))?.count ?? 0;
}

const FORGET = statement<{ before: number; limit: number }, { digest: string }>(
  `delete from used_challenges where digest in (
    select digest from used_challenges where expires_at <= :before order by expires_at, digest limit :limit)
  returning digest`,
);

/** Deletes up to `limit` challenges that ended at `before` or earlier. @returns how many */
export async function forgetUsedChallenges(tx: Tx, before: number, limit: number): Promise<number> {
  return (await FORGET.all(tx, { before, limit })).length;
}
