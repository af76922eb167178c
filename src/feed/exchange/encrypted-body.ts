/** What both messages of the exchange end with: an optional body, JSON as zstd under an hourly key. */

import { NONCE_OCTETS, TAG_OCTETS } from '../../base/aes-gcm.ts';
import { LIMITS } from '../../base/limits.ts';
import { compress, decompressJson } from '../batch/compression.ts';
import {
  decryptRows,
  encryptRows,
  type FeedKey,
  type FeedKeyRing,
  KEY_ID_OCTETS,
} from '../batch/feed-key.ts';
import { type FieldReader, field } from '../batch/fields.ts';
import { FeedRefusedError } from '../batch/refusal.ts';

/** A body that is still encrypted. The signature over it was checked. */
export interface EncryptedBody {
  readonly keyId: Uint8Array;
  readonly nonce: Uint8Array;
  readonly plainLength: number;
  readonly encrypted: Uint8Array;
  /** All fields before the ciphertext. */
  readonly associated: Uint8Array;
}

export interface BodyKey {
  readonly key: FeedKey;
  readonly random: (octets: number) => Uint8Array;
}

/** Appends an encrypted body to the fields of a message. @throws RangeError for a body above the bound */
export function encryptBody(fields: Uint8Array, body: unknown, { key, random }: BodyKey): Uint8Array {
  const plain = Buffer.from(JSON.stringify(body));
  if (plain.length > LIMITS.feedBatchOctets)
    throw new RangeError('a body is larger than a message of the feed');
  const compressed = compress(plain);
  const nonce = random(NONCE_OCTETS);
  const associated = Buffer.concat([
    fields,
    key.id,
    nonce,
    field.u32(plain.length),
    field.u32(compressed.length + TAG_OCTETS),
  ]);
  return Buffer.concat([associated, encryptRows(key, nonce, associated, compressed)]);
}

/**
 * @param reader after the fields of the message
 * @param message without its signature
 * @returns null when there is no body
 * @throws FeedRefusedError
 */
export function readEncrypted(reader: FieldReader, message: Uint8Array): EncryptedBody | null {
  if (reader.left() === 0) return null;
  const [keyId, nonce] = [reader.bytes(KEY_ID_OCTETS), reader.bytes(NONCE_OCTETS)];
  const [plainLength, length] = [reader.u32(), reader.u32()];
  if (reader.left() !== length || plainLength > LIMITS.feedBatchOctets) throw new FeedRefusedError('size');
  const associated = message.subarray(0, message.length - length);
  return { keyId, nonce, plainLength, encrypted: reader.bytes(length), associated };
}

/** @throws FeedRefusedError `key`, `decrypt`, `decompress` or `format`, whatever the bytes are */
export function decryptBody(body: EncryptedBody, ring: FeedKeyRing): unknown {
  const key = ring.find(body.keyId);
  if (key === null) throw new FeedRefusedError('key');
  const compressed = decryptRows(key, body.nonce, body.associated, body.encrypted);
  return decompressJson(compressed, body.plainLength, 'format');
}
