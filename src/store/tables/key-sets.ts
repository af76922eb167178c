import type { EncryptedKeySet } from '../../base/encrypted-keys.ts';
import { listStatement } from '../engine/list-statement.ts';
import type { Db, Tx } from '../store.ts';

const READ = listStatement<{ ids: readonly string[] }, EncryptedKeySet>(
  'select zone, version, document from dnssec_key_sets where zone in (:ids)',
  'text',
);

/** The encrypted key sets of those zones that have one. */
export async function readKeySets(db: Db, zones: readonly string[]): Promise<readonly EncryptedKeySet[]> {
  return (await READ(db, { ids: zones })).rows;
}

/** Stores the first key set of a zone. Where one is there already, that one stays. @returns whether it was stored */
export async function insertKeySet(tx: Tx, zone: string, document: string, now: number): Promise<boolean> {
  const row = await tx
    .insertInto('dnssec_key_sets')
    .values({ zone, version: 1, document, updated_at: now })
    .onConflict((conflict) => conflict.column('zone').doNothing())
    .returning('version')
    .executeTakeFirst();
  return row !== undefined;
}

/** Replaces the key set of a zone if its version is still the given one. @returns whether it was replaced */
export async function replaceKeySet(
  tx: Tx,
  { zone, version, document }: EncryptedKeySet,
  now: number,
): Promise<boolean> {
  const row = await tx
    .updateTable('dnssec_key_sets')
    .set({ version: version + 1, document, updated_at: now })
    .where('zone', '=', zone)
    .where('version', '=', version)
    .returning('version')
    .executeTakeFirst();
  return row !== undefined;
}
