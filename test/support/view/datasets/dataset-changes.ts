import { createPrivateKey } from 'node:crypto';
import type { DatasetChange } from '../../../../src/protocol/change.ts';
import { attest, attestationKeyId } from '../../../../src/protocol/datasets/attestation.ts';
import type { DatasetItem, ItemFacts } from '../../../../src/protocol/datasets/item.ts';
import type { SignedManifest } from '../../../../src/protocol/datasets/manifest.ts';

/** RFC 8410 section 7: what stands before the 32 octets of a seed. */
const PKCS8_HEAD = '302e020100300506032b657004220420';

const namespace = 'public';

/** The n-th version id. */
export function versionIdOf(n: number): string {
  return `018f0000-0000-7000-8000-${n.toString(16).padStart(12, '0')}`;
}

export function facts(from: number | null, to: number | null, rest: Partial<ItemFacts> = {}): ItemFacts {
  return { from, to, issuer: '', brand: '', cc: 'DE', type: '', ...rest };
}

export function itemsAdded(versionId: string, ...items: readonly DatasetItem[]): DatasetChange {
  return { type: 'dataset.items', namespace, versionId, items };
}

export function published(versionId: string, manifest: SignedManifest): DatasetChange {
  return { type: 'dataset.published', namespace, versionId, manifest };
}

export function withdrawn(versionId: string): DatasetChange {
  return { type: 'dataset.withdrawn', namespace, versionId };
}

export function proved(versionId: string, proof: string): DatasetChange {
  return { type: 'log.proof', namespace, versionId, proof };
}

export function checkpointed(checkpoint: string): DatasetChange {
  return { type: 'log.checkpoint', namespace, checkpoint };
}

/** An attestation key by a number. */
export function attestationKey(n: number) {
  const seed = n.toString(16).padStart(64, '0');
  const key = createPrivateKey({ key: Buffer.from(PKCS8_HEAD + seed, 'hex'), format: 'der', type: 'pkcs8' });
  const publicKey = Buffer.from(key.export({ format: 'jwk' }).x!, 'base64url');
  return { key, publicKey, kid: attestationKeyId(publicKey) };
}

export function keyAdded(n: number, since: number, end: number | null = null): DatasetChange {
  const { kid, publicKey } = attestationKey(n);
  return { type: 'dataset.key', namespace, kid, publicKey: publicKey.toString('base64'), since, end };
}

/** @param key the number of its attestation key */
export function manifestOf(slug: string, version: string, key = 1): SignedManifest {
  const stated = { slug, version, license: 'CC0-1.0', provenance: 'tests', url: 'https://example.net/items' };
  return attest(stated, 'ab'.repeat(32), attestationKey(key).key, 1_800_000_000);
}
