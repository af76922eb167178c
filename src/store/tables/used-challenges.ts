import { statement } from '../engine/statement.ts';
import type { UsedChallengesTable } from '../schema.ts';
import type { Db, Tx } from '../store.ts';

/** @returns false when the challenge was used before, in any process */
export async function insertUsedChallenge(tx: Tx, challenge: UsedChallengesTable): Promise<boolean> {
  const row = await tx
    .insertInto('used_challenges')
    .values(challenge)
    .onConflict((conflict) => conflict.column('digest').doNothing())
    .returning('digest')
    .executeTakeFirst();
  return row !== undefined;
}

/** A user's used challenges that end after `now`. */
export async function countUsedChallenges(db: Db, userId: string, now: number): Promise<number> {
  const { count } = await db
    .selectFrom('used_challenges')
    .select((challenge) => challenge.fn.countAll<number>().as('count'))
    .where('user_id', '=', userId)
    .where('expires_at', '>', now)
    .executeTakeFirstOrThrow();
  return count;
}

const FORGET = statement<{ before: number; limit: number }, { digest: string }>(
  `delete from used_challenges where digest in (
    select digest from used_challenges where expires_at <= :before order by expires_at, digest limit :limit)
  returning digest`,
);

/** Deletes up to `limit` challenges that ended at `before` or earlier. @returns how many */
export async function forgetUsedChallenges(tx: Tx, before: number, limit: number): Promise<number> {
  return (await FORGET(tx, { before, limit })).rows.length;
}
