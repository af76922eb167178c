/** The signature of a dataset's manifest (docs/DATASETS.md). */

import { canonicalText, KEY_ID_LETTERS, readKeyFields } from '../../../src/protocol/datasets/signed-text.ts';
import { decodeBase64, encodeHex } from '../../../src/protocol/encodings.ts';
import { verifierOf } from './dnssec/verify-signature.ts';

/** A manifest as the API gives it. */
export interface AttestedManifest {
  readonly slug: string;
  readonly version: string;
  readonly license: string;
  readonly provenance: string;
  readonly sha256: string;
  /** Base64. */
  readonly attsig: string;
  readonly attkid: string;
  /** Unix second of the attestation. */
  readonly atts: number;
}

/** A key of a publisher, from `manifest.keys.datasets.public.v1`. */
export interface AttestationKey {
  readonly kid: string;
  readonly publicKey: Uint8Array;
  /** Unix second after which it attests no more; null: it has not ended. */
  readonly end: number | null;
}

export type Attestation =
  | 'valid'
  | 'signature_wrong'
  /** The server does not publish the key that the manifest names. */
  | 'key_unknown'
  /** The manifest is attested after the end of its key. */
  | 'key_ended'
  /** This runtime has no Ed25519. */
  | 'unsupported';

const ED25519 = 15;

/** Fields of a text with `;` between them, such as those of a manifest, a key or an identity. */
export function textFields(text: string): ReadonlyMap<string, string> {
  return new Map(
    text.split(';').flatMap((field) => {
      const equals = field.indexOf('=');
      return equals < 1 ? [] : [[field.slice(0, equals), field.slice(equals + 1)] as const];
    }),
  );
}

/** The keys of the TXT records. A record whose key id is not that of its key is left out. */
export async function readAttestationKeys(texts: readonly string[]): Promise<readonly AttestationKey[]> {
  const keys = await Promise.all(texts.map(readKey));
  return keys.filter((key) => key !== null);
}

async function readKey(text: string): Promise<AttestationKey | null> {
  const fields = textFields(text);
  const key = readKeyFields(fields);
  if (key === null) return null;
  const digest = await crypto.subtle.digest('SHA-256', Uint8Array.from(key.publicKey));
  const kid = encodeHex(new Uint8Array(digest)).slice(0, KEY_ID_LETTERS);
  return fields.get('kid') === kid ? { kid, publicKey: key.publicKey, end: key.end } : null;
}

/** Checks by WebCrypto who signed a manifest. Compare the key with one that you have from its publisher. */
export async function checkAttestation(
  manifest: AttestedManifest,
  keys: readonly AttestationKey[],
): Promise<Attestation> {
  const key = keys.find(({ kid }) => kid === manifest.attkid);
  if (key === undefined) return 'key_unknown';
  if (key.end !== null && manifest.atts > key.end) return 'key_ended';
  const signature = decodeBase64(manifest.attsig);
  if (signature === null) return 'signature_wrong';
  const verify = verifierOf({ algorithm: ED25519, publicKey: key.publicKey });
  const result = await verify(signature, canonicalText(manifest));
  return result === 'no_match' ? 'signature_wrong' : result;
}
