import type { JwtKeysTable } from '../schema.ts';
import type { Db, Tx } from '../store.ts';

export async function findJwtKey(db: Db, kid: string): Promise<JwtKeysTable | null> {
  const row = await db.selectFrom('jwt_keys').selectAll().where('kid', '=', kid).executeTakeFirst();
  return row ?? null;
}

export async function findJwtKeyOf(db: Db, period: number): Promise<JwtKeysTable | null> {
  const row = await db.selectFrom('jwt_keys').selectAll().where('period', '=', period).executeTakeFirst();
  return row ?? null;
}

/** Adds the key of its period, unless another process has. Deletes keys of periods before `oldest`. */
export async function addJwtKey(tx: Tx, key: JwtKeysTable, oldest: number): Promise<void> {
  await tx
    .insertInto('jwt_keys')
    .values(key)
    .onConflict((conflict) => conflict.doNothing())
    .execute();
  await tx.deleteFrom('jwt_keys').where('period', '<', oldest).execute();
}
