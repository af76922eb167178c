/**
 * Keys of datasets in the view; `FIRST` says what each holds. A version id is a UUID, 16 octets in a key. Slugs and
 * versions have no zero octet, so that a key of two texts has one reading.
 */
import { type Bytes, FIRST, type KeyRange } from '../lmdb/tree.ts';

const ID_OCTETS = 16;
const BETWEEN = 0;
const AFTER = 1;
/** A first byte, a version id and an item key, or two labels with a zero between them. */
const ROOM = 160;

/** LMDB copies a key before the next is made. */
const scratch = new Uint8Array(ROOM);

/** Valid until the next key is made, as are all keys below. @param slug at most 63 characters, as `item` and `version` */
export function latestKey(slug: string): Bytes {
  scratch[0] = FIRST.datasetLatest;
  return scratch.subarray(0, putText(1, slug));
}

export function manifestKey(slug: string, version: string): Bytes {
  scratch[0] = FIRST.datasetManifest;
  const at = putText(1, slug);
  scratch[at] = BETWEEN;
  return scratch.subarray(0, putText(at + 1, version));
}

export function versionKey(id: Uint8Array): Bytes {
  return idKey(FIRST.datasetVersion, id);
}

export function withdrawnKey(id: Uint8Array): Bytes {
  return idKey(FIRST.datasetWithdrawn, id);
}

export function retiredKey(id: Uint8Array): Bytes {
  return idKey(FIRST.datasetRetired, id);
}

export function proofKey(id: Uint8Array): Bytes {
  return idKey(FIRST.datasetProof, id);
}

export const CHECKPOINT_KEY: Bytes = Uint8Array.of(FIRST.datasetCheckpoint);

export function itemKey(id: Uint8Array, item: string): Bytes {
  scratch[0] = FIRST.datasetItem;
  scratch.set(id, 1);
  return scratch.subarray(0, putText(1 + ID_OCTETS, item));
}

export function publicKeyKey(kid: string): Bytes {
  scratch[0] = FIRST.datasetKey;
  return scratch.subarray(0, putText(1, kid));
}

export function useKey(kid: string, id: Uint8Array): Bytes {
  scratch[0] = FIRST.datasetKeyUse;
  const at = putText(1, kid);
  scratch.set(id, at);
  return scratch.subarray(0, at + ID_OCTETS);
}

/** All items of a version. */
export function itemsOf(id: Uint8Array): KeyRange {
  const start = new Uint8Array(1 + ID_OCTETS);
  start[0] = FIRST.datasetItem;
  start.set(id, 1);
  // Item keys are ASCII, so that no key of this version is greater.
  return { start, end: Uint8Array.of(...start, 0xff) };
}

/** All manifests of a dataset. */
export function manifestsOf(slug: string): KeyRange {
  const text = Buffer.from(slug, 'latin1');
  return {
    start: Uint8Array.of(FIRST.datasetManifest, ...text, BETWEEN),
    end: Uint8Array.of(FIRST.datasetManifest, ...text, AFTER),
  };
}

/** All served manifests that a key attests. */
export function usesOf(kid: string): KeyRange {
  const text = Buffer.from(kid, 'latin1');
  return {
    start: Uint8Array.of(FIRST.datasetKeyUse, ...text),
    end: Uint8Array.of(FIRST.datasetKeyUse, ...text, 0xff),
  };
}

/** All keys of a kind. */
export function allOf(first: number): KeyRange {
  return { start: Uint8Array.of(first), end: Uint8Array.of(first + 1) };
}

/** The texts of a key made by `manifestKey`. */
export function manifestParts(key: Uint8Array): readonly [slug: string, version: string] {
  const [slug, version] = textAfterFirst(key).split('\0') as [string, string];
  return [slug, version];
}

/** The text of a key made by `publicKeyKey`. */
export function textAfterFirst(key: Uint8Array): string {
  return Buffer.from(key.subarray(1)).toString('latin1');
}

/** The id of a key made by `withdrawnKey`. */
export function idAfterFirst(key: Uint8Array): Uint8Array {
  return Uint8Array.from(key.subarray(1, 1 + ID_OCTETS));
}

/** @param uuid 36 characters @returns its 16 octets */
export function idOctets(uuid: string): Buffer {
  return Buffer.from(uuid.replaceAll('-', ''), 'hex');
}

function idKey(first: number, id: Uint8Array): Bytes {
  scratch[0] = first;
  scratch.set(id, 1);
  return scratch.subarray(0, 1 + ID_OCTETS);
}

function putText(at: number, text: string): number {
  for (let i = 0; i < text.length; i++) scratch[at++] = text.charCodeAt(i);
  return at;
}
