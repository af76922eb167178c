import type { EncryptedKeySet } from '../../base/encrypted-keys.ts';
import { listStatement, statement } from '../engine/statement.ts';
import type { Db, Tx } from '../store.ts';

const READ = listStatement<{ ids: readonly string[] }, EncryptedKeySet>(
  'select zone, version, document from dnssec_key_sets where zone in (:ids)',
  'text',
);

/** The encrypted key sets of those zones that have one. */
export async function readKeySets(db: Db, zones: readonly string[]): Promise<readonly EncryptedKeySet[]> {
  return READ.all(db, { ids: zones });
}

const INSERT = statement<{ zone: string; document: string; now: number }>(
  `insert into dnssec_key_sets (zone, version, document, updated_at) values (:zone, 1, :document, :now)
  on conflict (zone) do nothing`,
);

/** Stores the first key set of a zone. Where one is there already, that one stays. @returns whether it was stored */
export async function insertKeySet(tx: Tx, zone: string, document: string, now: number): Promise<boolean> {
  return (await INSERT.run(tx, { zone, document, now })) > 0;
}

const REPLACE = statement<EncryptedKeySet & { now: number }>(
  `update dnssec_key_sets set version = version + 1, document = :document, updated_at = :now
  where zone = :zone and version = :version`,
);

/** Replaces the key set of a zone if its version is still the given one. @returns whether it was replaced */
export async function replaceKeySet(tx: Tx, set: EncryptedKeySet, now: number): Promise<boolean> {
  return (await REPLACE.run(tx, { ...set, now })) > 0;
}
