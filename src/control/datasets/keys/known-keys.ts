import { attestationKeyId } from '../../../protocol/datasets/attestation.ts';
import type { SignedManifest } from '../../../protocol/datasets/manifest.ts';
import { findKey, type KeyRow, putKeys } from '../../../store/datasets/keys.ts';
import { keyChange } from '../../../store/datasets/snapshot.ts';
import { appendChanges } from '../../../store/log/change-log.ts';
import type { Db, Tx } from '../../../store/store.ts';
import type { HasClock, HasStore } from '../../accounts/deps.ts';
import { DatasetFault } from '../fault.ts';
import type { AttestationKey } from './key-files.ts';

/** Stores and publishes the public keys of this data directory: an older one ends when the next one begins. */
export async function publishOwnKeys(
  { store, clock }: HasStore & HasClock,
  own: readonly AttestationKey[],
): Promise<void> {
  await store.write(async (tx) => {
    const changes = await storeKeys(tx, ownKeyRows(own));
    if (changes.length > 0) await appendChanges(tx, changes, clock());
  });
}

/** @returns changes of those keys that are new or changed, to append to the log */
export async function storeKeys(tx: Tx, keys: readonly KeyRow[]) {
  const changed = await putKeys(tx, keys);
  return changed.map((key) => ({ owner: null, cause: 'direct' as const, ...keyChange(key) }));
}

/** @param own from the oldest to the newest */
export function ownKeyRows(own: readonly AttestationKey[]): KeyRow[] {
  return own.map(({ kid, publicKey, createdAt }, i) => {
    const next = own[i + 1]?.createdAt;
    return {
      kid,
      public_key: publicKey.toString('base64'),
      since: seconds(createdAt),
      until: next === undefined ? null : seconds(next),
      is_own: 1,
    };
  });
}

/**
 * The key that a manifest names: an own one, the one given on the command line, or one that an earlier import stored.
 * @throws DatasetFault when it is none of them
 */
export async function keyOfManifest(
  db: Db,
  manifest: SignedManifest,
  own: readonly KeyRow[],
  given: Uint8Array | null,
): Promise<KeyRow> {
  const kid = manifest.attkid;
  if (given !== null && attestationKeyId(given) !== kid) {
    throw new DatasetFault([
      `the manifest is attested by key ${kid}, and the given key is ${attestationKeyId(given)}`,
    ]);
  }
  const known = own.find((key) => key.kid === kid) ?? (await findKey(db, kid));
  if (known !== null) return known;
  if (given === null) {
    throw new DatasetFault([
      `the manifest is attested by key ${kid}, which is not known here. Give the publisher's public key with --key.`,
    ]);
  }
  const publicKey = Buffer.from(given).toString('base64');
  return { kid, public_key: publicKey, since: manifest.atts, until: null, is_own: 0 };
}

function seconds(milliseconds: number): number {
  return Math.floor(milliseconds / 1000);
}
