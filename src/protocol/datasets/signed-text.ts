/** What an attestation signs, and the fields of a key: the parts of an attestation that browsers read too. */
import { ATTESTATION_VERSION } from '../../base/brand.ts';
import { decodeBase64 } from '../encodings.ts';

export const PUBLIC_KEY_OCTETS = 32;
/** Of a key id: the first letters of the SHA-256 of the raw public key, in hexadecimal. */
export const KEY_ID_LETTERS = 16;

const SECONDS = /^[0-9]{1,12}$/;

export interface PublishedKey {
  readonly publicKey: Uint8Array;
  /** Unix second of its creation. */
  readonly since: number;
  /** Unix second from which it attests no more, or null. */
  readonly end: number | null;
}

/** The members of a manifest that an attestation signs. */
interface Statement {
  readonly slug: string;
  readonly version: string;
  readonly license: string;
  readonly provenance: string;
  readonly sha256: string;
}

/**
 * The octets that an attestation signs: UTF-8, texts in normal form C, six lines in this order, no line feed at the end.
 * The URL is not part of it.
 */
export function canonicalText(statement: Statement): Uint8Array<ArrayBuffer> {
  const { slug, version, license, provenance, sha256 } = statement;
  const lines = [
    ATTESTATION_VERSION,
    `name=${slug}`,
    `version=${version}`,
    // Each value by itself: `=` and a combining mark at the start of the value could become one character.
    `license=${license.normalize('NFC')}`,
    `provenance=${provenance.normalize('NFC')}`,
    `sha256=${sha256}`,
  ];
  return new TextEncoder().encode(lines.join('\n'));
}

/** A key of the fields of its TXT value. Null for a key of another kind. */
export function readKeyFields(fields: ReadonlyMap<string, string>): PublishedKey | null {
  const publicKey = decodeBase64(fields.get('pub') ?? '');
  const since = fields.get('st') ?? '';
  const end = fields.get('end') ?? null;
  if (fields.get('alg') !== 'ed25519' || publicKey?.length !== PUBLIC_KEY_OCTETS) return null;
  if (!SECONDS.test(since) || (end !== null && !SECONDS.test(end))) return null;
  return { publicKey, since: Number(since), end: end === null ? null : Number(end) };
}
