import type { DatasetItem, ItemFacts } from '../protocol/datasets/item.ts';
import type { SignedManifest } from '../protocol/datasets/manifest.ts';
import type { PublishedKey } from '../protocol/datasets/signed-text.ts';

export interface HostedNamespace {
  /** Its UUID, under which its queries are counted. */
  readonly id: string;
  readonly publicRead: boolean;
  readonly suspended: boolean;
}

export interface HostedToken {
  readonly namespace: string;
  /** Milliseconds since the epoch. */
  readonly expiresAt: number;
}

export interface HostedRecord {
  /** Decoded payload, at most 2,586 bytes. */
  readonly data: Uint8Array;
  /** Whether answers carry the payload as it is, and not in Base64. */
  readonly plain: boolean;
  /** The envelope's `f`. */
  readonly format: string;
  readonly ttlSeconds: number;
  /** Milliseconds since the epoch; null: never. */
  readonly expiresAt: number | null;
}

/** What changes do to the hosted part of a view. */
export interface HostedTarget {
  putRecord(key: string, record: HostedRecord): void;
  deleteRecord(key: string): void;
  /** The record has a value that is gone from the log; a later change has another one, or deletes it. */
  withholdRecord(key: string): void;
  /** The record of this key was deleted because it had expired, at this time in milliseconds since the epoch. */
  rememberExpired(key: string, namespace: string, at: number): void;
  /** The record of this key was deleted by its owner: a query of it is no longer `expired`. */
  forgetExpired(key: string, namespace: string): void;
  /** @param maxTtl seconds that caches may keep an open answer of the namespace */
  putNamespace(name: string, namespace: HostedNamespace, maxTtl: number): void;
  /** Removes the namespace, its tokens and every record in it. */
  dropNamespace(name: string): void;
  putToken(digest: string, token: HostedToken): void;
  deleteToken(digest: string): void;
}

/** Read access. Synchronous, so that an answer needs no promise. Names, keys and digests are in lower case. */
export interface HostedView {
  namespace(name: string): HostedNamespace | null;
  /** @param digest lower-case hex SHA-256 of the presented token */
  token(digest: string): HostedToken | null;
  /** May return an expired record that is not erased yet: the caller drops it. Withheld: there is one, and the view lacks its value for a moment. */
  record(key: string): HostedRecord | 'withheld' | null;
  /**
   * Whether a record of this key expired in the last `LIMITS.expiredMinutes`, or a little earlier. It takes the same steps for every key of a snapshot.
   * @param namespaceId so that the next owner of a name learns nothing of the one before
   * @param now milliseconds since the epoch
   */
  hasExpired(key: string, namespaceId: string, now: number): boolean;
  /** Seconds that caches may keep an open answer of the namespace. */
  maxTtl(name: string): number;
  /** Whether any record's key equals the labels of `suffix` or ends with them (`res.ns.v1`, `ns.v1`). */
  anyBelow(suffix: string): boolean;
  /** Makes the next read see every commit so far. Cheap when there was none. */
  refresh(): void;
}

/** Read access. Synchronous, as `HostedView` is; its `refresh` counts for both. Slugs and item keys are in lower case. */
export interface DatasetView {
  /** The manifest of a version, or of the latest one by `compareVersions`; null when it is unknown or withdrawn. */
  manifest(slug: string, version: string | null): SignedManifest | null;
  /** Windows of an item in the latest version, in the order of their starts; empty when it is unknown. */
  identity(slug: string, item: string): readonly ItemFacts[];
  /** Public keys that a served manifest names, and the newest one; in the order of their ids. */
  keys(): readonly PublishedKey[];
  /** The proof of a served version, chosen as by `manifest`, and which version that is; null when there is none. */
  proof(slug: string, version: string | null): ProvenVersion | null;
  /** The newest checkpoint of the transparency log, a signed note in Base64; null: as far as this view knows there is no log. */
  checkpoint(): string | null;
}

export interface ProvenVersion {
  readonly version: string;
  /** A tlog-proof in Base64, as an answer carries it. */
  readonly base64: string;
}

/** What changes do to the datasets of a view. */
export interface DatasetTarget {
  /** Nothing for a version that was withdrawn: it may have lost other items already. */
  putItems(versionId: string, items: readonly DatasetItem[]): void;
  /** As `putItems`. */
  publish(versionId: string, manifest: SignedManifest): void;
  /** For good, also before anything of the version is there. */
  withdraw(versionId: string): void;
  putKey(kid: string, key: PublishedKey): void;
  /** Nothing for a version that is not served: it was retired before its proof was there. */
  putProof(versionId: string, proof: string): void;
  putCheckpoint(checkpoint: string): void;
}
