import type { SignInCodesTable } from '../schema.ts';
import type { Db, Tx } from '../store.ts';

/** Expired codes that each new one deletes. More than one, so that they do not add up. */
const FORGET = 10;

/** Every code of an address, ended ones included, in the order of their slots. */
export function codesOf(db: Db, address: string): Promise<SignInCodesTable[]> {
  return db.selectFrom('sign_in_codes').selectAll().where('address', '=', address).orderBy('slot').execute();
}

/**
 * Stores a code in its slot, unless the slot has changed since it was read.
 * @param replaced the flow of the code that was in the slot; null: the slot was empty
 * @returns whether it was stored
 */
export async function putCode(tx: Tx, code: SignInCodesTable, replaced: string | null): Promise<boolean> {
  if (replaced === null) {
    const { numInsertedOrUpdatedRows: rows = 0n } = await tx
      .insertInto('sign_in_codes')
      .values(code)
      .onConflict((conflict) => conflict.columns(['address', 'slot']).doNothing())
      .executeTakeFirstOrThrow();
    return rows > 0n;
  }
  const { numUpdatedRows } = await tx
    .updateTable('sign_in_codes')
    .set(code)
    .where('address', '=', code.address)
    .where('slot', '=', code.slot)
    .where('flow', '=', replaced)
    .executeTakeFirstOrThrow();
  return numUpdatedRows > 0n;
}

/** Deletes some codes of any address that have ended. */
export async function forgetEndedCodes(tx: Tx, now: number): Promise<void> {
  const ended = tx
    .selectFrom('sign_in_codes')
    .select('flow')
    .where('expires_at', '<=', now)
    .orderBy('expires_at')
    .limit(FORGET)
    // Two units that delete the same rows would wait for each other.
    .forUpdate()
    .skipLocked();
  await tx.deleteFrom('sign_in_codes').where('flow', 'in', ended).execute();
}

/**
 * Counts a try with a flow and returns the digest to compare with. One statement: two processes cannot both take the last try.
 * @param most tries that a code allows
 * @returns null when the address has no code of this flow, or the code has ended or is void
 */
export async function countTry(
  tx: Tx,
  address: string,
  flow: string,
  most: number,
  now: number,
): Promise<string | null> {
  const row = await tx
    .updateTable('sign_in_codes')
    .set((code) => ({ tries: code('tries', '+', 1) }))
    .where('address', '=', address)
    .where('flow', '=', flow)
    .where('expires_at', '>', now)
    .where('tries', '<', most)
    .returning('digest')
    .executeTakeFirst();
  return row?.digest ?? null;
}

/** @returns false when another unit has used or replaced the code since it was read */
export async function deleteCode(tx: Tx, address: string, flow: string): Promise<boolean> {
  const { numDeletedRows } = await tx
    .deleteFrom('sign_in_codes')
    .where('address', '=', address)
    .where('flow', '=', flow)
    .executeTakeFirstOrThrow();
  return numDeletedRows > 0n;
}

export async function isKnownBrowser(db: Db, digest: string, now: number): Promise<boolean> {
  const row = await db
    .selectFrom('sign_in_browsers')
    .select('digest')
    .where('digest', '=', digest)
    .where('expires_at', '>', now)
    .executeTakeFirst();
  return row !== undefined;
}

/** Remembers a browser until `expiresAt`. @param most browsers of one user; those that end first are forgotten */
export async function putBrowser(
  tx: Tx,
  digest: string,
  userId: string,
  expiresAt: number,
  most: number,
): Promise<void> {
  await tx
    .insertInto('sign_in_browsers')
    .values({ digest, user_id: userId, expires_at: expiresAt })
    .onConflict((conflict) => conflict.column('digest').doUpdateSet({ expires_at: expiresAt }))
    .execute();
  const kept = tx
    .selectFrom('sign_in_browsers')
    .select('digest')
    .where('user_id', '=', userId)
    .orderBy('expires_at', 'desc')
    .orderBy('digest')
    .limit(most);
  await tx
    .deleteFrom('sign_in_browsers')
    .where('user_id', '=', userId)
    .where('digest', 'not in', kept)
    .execute();
}
