/**
 * First bytes of all keys of the view. Keys of records have none: they begin with a letter or digit of a label. Each
 * table names its own, in one list, so that no two tables share one.
 */
export const FIRST = {
  meta: 0x01,
  /** `{` version, zero, namespace: the namespaces that have records of a version. */
  version: 0x7b,
  /** `|` namespace. */
  namespace: 0x7c,
  /** `}` and the 32 bytes of a digest. */
  token: 0x7d,
  /** `~` namespace, zero, digest: the tokens of a namespace. */
  tokenOf: 0x7e,
  /** DEL namespace: how long caches may keep its open answers. A view of an earlier release has none. */
  maxTtl: 0x7f,
  /** Key id: an attestation key. */
  datasetKey: 0x80,
  /** Key id, version id: the served manifests that a key attests. */
  datasetKeyUse: 0x81,
  /** Version id: which version of which dataset it is. */
  datasetVersion: 0x82,
  /** Slug, zero, version: its id and manifest. */
  datasetManifest: 0x83,
  /** Slug: id of its latest version. */
  datasetLatest: 0x84,
  /** Version id, item: its windows. */
  datasetItem: 0x85,
  /** Version id: a version that was withdrawn, whose items are still to be deleted. */
  datasetWithdrawn: 0x86,
  /** Digest: the period of time in which a record expired. */
  expired: 0x87,
  /** Period, digest: the same in order of time. */
  expiredIn: 0x88,
  /** Filling of freed pages, see `wipe.ts`. */
  filling: 0xff,
} as const;

export type Bytes = Uint8Array<ArrayBuffer>;

export interface KeyRange {
  readonly start: Bytes;
  readonly end: Bytes;
}

export const LAYOUT_KEY: Bytes = Uint8Array.of(FIRST.meta, 0x66);
export const CURSOR_KEY: Bytes = Uint8Array.of(FIRST.meta, 0x63);
export const EPOCH_KEY: Bytes = Uint8Array.of(FIRST.meta, 0x65);

export function encodeCursor(cursor: number): Buffer {
  const bytes = Buffer.allocUnsafe(8);
  bytes.writeDoubleBE(cursor, 0);
  return bytes;
}

export function decodeCursor(bytes: Buffer): number {
  return bytes.readDoubleBE(0);
}
