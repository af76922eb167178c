import { insertText, statement } from '../engine/statement.ts';
import type { UsedChallengesTable } from '../schema.ts';
import type { Db, Tx } from '../store.ts';

const INSERT = statement<UsedChallengesTable>(
  insertText('used_challenges', 'digest, user_id, expires_at', 'on conflict (digest) do nothing'),
);

/** @returns false when the challenge was used before, in any process */
export async function insertUsedChallenge(tx: Tx, challenge: UsedChallengesTable): Promise<boolean> {
  return (await INSERT.run(tx, challenge)) > 0;
}

const COUNT = statement<{ userId: string; now: number }, { count: number }>(
  'select count(*) as count from used_challenges where user_id = :userId and expires_at > :now',
);

/** A user's used challenges that end after `now`. */
export async function countUsedChallenges(db: Db, userId: string, now: number): Promise<number> {
  return (await COUNT.first(db, { userId, now }))?.count ?? 0;
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
