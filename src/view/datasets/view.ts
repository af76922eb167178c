import type { DatasetItem, ItemFacts } from '../../protocol/datasets/item.ts';
import type { SignedManifest } from '../../protocol/datasets/manifest.ts';
import type { PublishedKey } from '../../protocol/datasets/signed-text.ts';

/** Read access. Synchronous, as `HostedView` is; its `refresh` counts for both. Slugs and item keys are in lower case. */
export interface DatasetView {
  /** The manifest of a version, or of the latest one by `compareVersions`; null when it is unknown or withdrawn. */
  manifest(slug: string, version: string | null): SignedManifest | null;
  /** Windows of an item in the latest version, in the order of their starts; empty when it is unknown. */
  identity(slug: string, item: string): readonly ItemFacts[];
  /** Public keys that a served manifest names, and the newest one; in the order of their ids. */
  keys(): readonly PublishedKey[];
}

/** What changes do to the datasets of a view. */
export interface DatasetTarget {
  putItems(versionId: string, items: readonly DatasetItem[]): void;
  publish(versionId: string, manifest: SignedManifest): void;
  withdraw(versionId: string): void;
  putKey(kid: string, key: PublishedKey): void;
}
