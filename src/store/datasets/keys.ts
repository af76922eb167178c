import { insertText, statement } from '../engine/statement.ts';
import type { Db, Tx } from '../store.ts';
import type { DatasetKeysTable } from './tables.ts';

export type KeyRow = DatasetKeysTable;

const LIST = statement<object, KeyRow>('select * from dataset_keys order by since, kid');
const FIND = statement<{ kid: string }, KeyRow>('select * from dataset_keys where kid = :kid');
const PUT = statement<KeyRow>(
  insertText(
    'dataset_keys',
    'kid, public_key, since, until, is_own',
    `on conflict (kid) do update set public_key = excluded.public_key, since = excluded.since,
      until = excluded.until, is_own = excluded.is_own`,
  ),
);

/** By the second of their creation. */
export function listKeys(db: Db): Promise<KeyRow[]> {
  return LIST.all(db, {});
}

export function findKey(db: Db, kid: string): Promise<KeyRow | null> {
  return FIND.first(db, { kid });
}

/** Stores keys, or what is known of them now. @returns those that are new or changed */
export async function putKeys(tx: Tx, keys: readonly KeyRow[]): Promise<KeyRow[]> {
  const changed: KeyRow[] = [];
  for (const key of keys) {
    const known = await findKey(tx, key.kid);
    if (known !== null && !isChanged(known, key)) continue;
    await PUT.run(tx, key);
    changed.push(key);
  }
  return changed;
}

function isChanged(known: KeyRow, key: KeyRow): boolean {
  return known.since !== key.since || known.until !== key.until || known.is_own !== key.is_own;
}
