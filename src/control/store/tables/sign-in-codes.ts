import type { SignInCodesTable } from '../schema.ts';
import type { Tx } from '../store.ts';

/** Expired codes that each new one deletes. More than one, so that they do not add up. */
const FORGET = 10;

/** Stores a code in place of the address's earlier one. */
export async function putCode(tx: Tx, code: SignInCodesTable, now: number): Promise<void> {
  const { digest, tries, expires_at } = code;
  await tx
    .insertInto('sign_in_codes')
    .values(code)
    .onConflict((conflict) => conflict.column('address').doUpdateSet({ digest, tries, expires_at }))
    .execute();
  const ended = tx
    .selectFrom('sign_in_codes')
    .select('address')
    .where('expires_at', '<=', now)
    .orderBy('expires_at')
    .limit(FORGET)
    // Two units that delete the same rows would wait for each other.
    .forUpdate()
    .skipLocked();
  await tx.deleteFrom('sign_in_codes').where('address', 'in', ended).execute();
}

/**
 * Counts a try and returns the digest to compare with. One statement: two processes cannot both take the last try.
 * @param most tries that a code allows
 * @returns null when the address has no code, or its code has ended or is void
 */
export async function countTry(tx: Tx, address: string, most: number, now: number): Promise<string | null> {
  const row = await tx
    .updateTable('sign_in_codes')
    .set((code) => ({ tries: code('tries', '+', 1) }))
    .where('address', '=', address)
    .where('expires_at', '>', now)
    .where('tries', '<', most)
    .returning('digest')
    .executeTakeFirst();
  return row?.digest ?? null;
}

export async function deleteCode(tx: Tx, address: string): Promise<void> {
  await tx.deleteFrom('sign_in_codes').where('address', '=', address).execute();
}
