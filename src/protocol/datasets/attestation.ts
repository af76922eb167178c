/** Attestations of manifests: Ed25519 (RFC 8032) over the canonical text, independent of DNSSEC. */

import { createHash, createPublicKey, type KeyObject, sign, verify } from 'node:crypto';
import { ATTESTATION_VERSION } from '../../base/brand.ts';
import { decodeBase64 } from '../encodings.ts';
import type { Manifest, SignedManifest } from './manifest.ts';
import { canonicalText, KEY_ID_LETTERS, type PublishedKey } from './signed-text.ts';

/** First 16 hex letters of the SHA-256 of the raw public key. */
export function attestationKeyId(publicKey: Uint8Array): string {
  return createHash('sha256').update(publicKey).digest('hex').slice(0, KEY_ID_LETTERS);
}

/** @param sha256 of the items file. @param now unix seconds */
export function attest(
  manifest: Manifest,
  sha256: string,
  privateKey: KeyObject,
  now: number,
): SignedManifest {
  const signature = sign(null, canonicalText({ ...manifest, sha256 }), privateKey);
  return {
    ...manifest,
    sha256,
    att: 'attested',
    attsig: signature.toString('base64'),
    attkid: attestationKeyId(rawPublicKey(privateKey)),
    atts: now,
  };
}

/** Whether the key signed the manifest. The key id is not compared. */
export function isAttestedBy(manifest: SignedManifest, publicKey: Uint8Array): boolean {
  const signature = decodeBase64(manifest.attsig);
  if (signature === null) return false;
  return verify(null, canonicalText(manifest), publicKeyObject(publicKey), signature);
}

/** The 32 octets of an Ed25519 key, private or public. */
export function rawPublicKey(key: KeyObject): Buffer {
  const { x } = (key.type === 'private' ? createPublicKey(key) : key).export({ format: 'jwk' });
  return Buffer.from(x ?? '', 'base64url');
}

export function keyTxt({ publicKey, since, end }: PublishedKey): string {
  const fields = [
    `v=${ATTESTATION_VERSION}`,
    `kid=${attestationKeyId(publicKey)}`,
    'alg=ed25519',
    `pub=${Buffer.from(publicKey).toString('base64')}`,
    `st=${since}`,
  ];
  if (end !== null) fields.push(`end=${end}`);
  return fields.join(';');
}

function publicKeyObject(raw: Uint8Array): KeyObject {
  const x = Buffer.from(raw).toString('base64url');
  return createPublicKey({ key: { kty: 'OKP', crv: 'Ed25519', x }, format: 'jwk' });
}
