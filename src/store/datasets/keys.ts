import type { Selectable } from 'kysely';
import type { Db, Tx } from '../store.ts';
import type { DatasetKeysTable } from './tables.ts';

export type KeyRow = Selectable<DatasetKeysTable>;

/** By the second of their creation. */
export async function listKeys(db: Db): Promise<KeyRow[]> {
  return db.selectFrom('dataset_keys').selectAll().orderBy('since').orderBy('kid').execute();
}

export async function findKey(db: Db, kid: string): Promise<KeyRow | null> {
  const row = await db.selectFrom('dataset_keys').selectAll().where('kid', '=', kid).executeTakeFirst();
  return row ?? null;
}

/** Stores keys, or what is known of them now. @returns those that are new or changed */
export async function putKeys(tx: Tx, keys: readonly KeyRow[]): Promise<KeyRow[]> {
  const changed: KeyRow[] = [];
  for (const key of keys) {
    const known = await findKey(tx, key.kid);
    if (known !== null && !isChanged(known, key)) continue;
    await tx
      .insertInto('dataset_keys')
      .values(key)
      .onConflict((conflict) =>
        conflict.column('kid').doUpdateSet({
          since: key.since,
          until: key.until,
          is_own: key.is_own,
          public_key: key.public_key,
        }),
      )
      .execute();
    changed.push(key);
  }
  return changed;
}

function isChanged(known: KeyRow, key: KeyRow): boolean {
  return known.since !== key.since || known.until !== key.until || known.is_own !== key.is_own;
}
