/**
 * What a node tells or asks control: encrypted under the present hourly key, signed with the node's nkey.
 *
 * | octets | field |
 * |---|---|
 * | 4 | `UQFN` |
 * | 1, 1, 2 | version, kind, shard |
 * | 8 | signer |
 * | 1 + n | name of the node |
 * | 16 | number: random, the same in no other request |
 * | 8 | time of the node's clock, milliseconds since the epoch |
 * | 16, 12 | key id, nonce |
 * | 4, 4 | length of the body decompressed, and encrypted with tag |
 * | n | body: AES-256-GCM, all fields before are associated data |
 * | 64 | Ed25519 |
 */
import { createHash, type KeyObject } from 'node:crypto';
import { NONCE_OCTETS, TAG_OCTETS } from '../../base/aes-gcm.ts';
import { LIMITS } from '../../base/limits.ts';
import type { BatchSecrets } from '../message/batch.ts';
import { QUESTION_OCTETS } from '../message/head.ts';
import {
  compress,
  decompressJson,
  decryptRows,
  encryptRows,
  type FeedKey,
  type FeedKeyRing,
  type FeedSigner,
  type FeedVerifier,
  type FieldReader,
  feedVerifier,
  field,
  fieldReader,
  KEY_ID_OCTETS,
  openSigned,
  SHARD,
  writePreamble,
} from '../message/message.ts';
import { FeedRefusedError } from '../ports/refusal.ts';

/** In the order of their numbers: a new one is added at the end. */
export const REQUEST_KINDS = [
  'usage',
  'rows',
  'state',
  'provider',
  'status',
  'publisher',
  'command',
] as const;
export type RequestKind = (typeof REQUEST_KINDS)[number];

/** Kind, version, flags, shard, signer. */
const PREAMBLE_OCTETS = 16;
const HASH = 'sha256';

interface RequestFields {
  readonly kind: RequestKind;
  readonly node: string;
  /** By the node's clock. */
  readonly at: number;
}

/** A request whose signature is right. */
export interface SignedRequest extends RequestFields {
  /** SHA-256 of the message: its answer has it. */
  readonly hash: Uint8Array;
  readonly body: EncryptedBody | null;
}

interface RequestSecrets extends BodyKey {
  readonly signer: FeedSigner;
}

/** @param body JSON */
export function writeRequest(
  { kind, node, at }: RequestFields,
  body: unknown,
  { signer, ...encryption }: RequestSecrets,
): Uint8Array {
  const fields = Buffer.concat([
    writePreamble('UQFN', { flags: REQUEST_KINDS.indexOf(kind), shard: SHARD }, signer),
    field.name(node),
    encryption.random(QUESTION_OCTETS),
    field.u64(at),
  ]);
  return signer.sign(encryptBody(fields, body, encryption));
}

export function requestHash(message: Uint8Array): Uint8Array {
  return createHash(HASH).update(message).digest();
}

/**
 * Checks length, version, name and signature before anything else. The name is one that the signature proves.
 * @param keyOf Ed25519 public key of a node, null for a name that is none
 * @throws FeedRefusedError and nothing else, whatever the bytes are
 */
export function openRequest(message: Uint8Array, keyOf: (node: string) => KeyObject | null): SignedRequest {
  if (message.length > LIMITS.feedMessage) throw new FeedRefusedError('size');
  const name = unverifiedName(message);
  const key = name === null ? null : keyOf(name);
  // Kind and version are compared before the signer, so that a later version is refused as such.
  const { body, reader, flags, shard } = openSigned('UQFN', message, feedVerifier(key === null ? [] : [key]));
  const node = reader.name();
  reader.bytes(QUESTION_OCTETS);
  const at = reader.u64();
  const kind = REQUEST_KINDS[flags];
  if (kind === undefined) throw new FeedRefusedError('format');
  if (shard !== SHARD) throw new FeedRefusedError('shard');
  return { kind, node, at, hash: requestHash(message), body: readEncrypted(reader, body) };
}

/** Says only which key to check with. */
function unverifiedName(message: Uint8Array): string | null {
  const reader = fieldReader(message);
  try {
    reader.bytes(PREAMBLE_OCTETS);
    return reader.name();
  } catch {
    return null;
  }
}

/** @throws FeedRefusedError and nothing else */
export function readRequestBody({ body }: SignedRequest, ring: FeedKeyRing): unknown {
  if (body === null) throw new FeedRefusedError('format');
  return decryptBody(body, ring);
}

/**
 * What control answers to a request of a node. The hash of the request binds it to that request and no other: to its random number, its
 * node and its content.
 *
 * | octets | field |
 * |---|---|
 * | 4 | `UQFA` |
 * | 1, 1, 2 | version, status, shard |
 * | 8 | signer |
 * | 32 | SHA-256 of the request |
 * | 16, 12, 4, 4, n | body as in a request; left out when there is none |
 * | 64 | Ed25519 |
 */

/**
 * In the order of their numbers: a new one is added at the end.
 * `invalid`: no repeat makes the request valid. `busy`: above the node's rate limit, nothing was done. `failed`: control could not do it now.
 */
export const ANSWER_STATUSES = ['done', 'invalid', 'busy', 'failed'] as const;
type AnswerStatus = (typeof ANSWER_STATUSES)[number];

const REQUEST_HASH_OCTETS = 32;

export interface Answer {
  readonly status: AnswerStatus;
  /** JSON; null: none. */
  readonly body: unknown;
}

/** @param request hash of the request that is answered */
export function writeReply(
  { status, body }: Answer,
  request: Uint8Array,
  { signer, ...encryption }: BatchSecrets,
): Uint8Array {
  const preamble = writePreamble('UQFA', { flags: ANSWER_STATUSES.indexOf(status), shard: SHARD }, signer);
  const fields = Buffer.concat([preamble, request]);
  return signer.sign(body === null ? fields : encryptBody(fields, body, encryption));
}

/**
 * @param request hash of the request that was sent
 * @throws FeedRefusedError and nothing else, whatever the bytes are
 */
export function openReply(
  message: Uint8Array,
  verifier: FeedVerifier,
  { request, ring }: { readonly request: Uint8Array; readonly ring: FeedKeyRing },
): Answer {
  if (message.length > LIMITS.feedMessage) throw new FeedRefusedError('size');
  const { body, reader, flags, shard } = openSigned('UQFA', message, verifier);
  const status = ANSWER_STATUSES[flags];
  const answered = reader.bytes(REQUEST_HASH_OCTETS);
  if (status === undefined) throw new FeedRefusedError('format');
  if (shard !== SHARD) throw new FeedRefusedError('shard');
  if (Buffer.compare(answered, request) !== 0) throw new FeedRefusedError('replayed');
  const encrypted = readEncrypted(reader, body);
  return { status, body: encrypted === null ? null : decryptBody(encrypted, ring) };
}

/** What both messages of the exchange end with: an optional body, JSON as zstd under an hourly key. */

/** A body that is still encrypted. The signature over it was checked. */
interface EncryptedBody {
  readonly keyId: Uint8Array;
  readonly nonce: Uint8Array;
  readonly plainLength: number;
  readonly encrypted: Uint8Array;
  /** All fields before the ciphertext. */
  readonly associated: Uint8Array;
}

interface BodyKey {
  readonly key: FeedKey;
  readonly random: (octets: number) => Uint8Array;
}

/** Appends an encrypted body to the fields of a message. @throws RangeError for a body above the bound */
function encryptBody(fields: Uint8Array, body: unknown, { key, random }: BodyKey): Uint8Array {
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
function readEncrypted(reader: FieldReader, message: Uint8Array): EncryptedBody | null {
  if (reader.left() === 0) return null;
  const [keyId, nonce] = [reader.bytes(KEY_ID_OCTETS), reader.bytes(NONCE_OCTETS)];
  const [plainLength, length] = [reader.u32(), reader.u32()];
  if (reader.left() !== length || plainLength > LIMITS.feedBatchOctets) throw new FeedRefusedError('size');
  const associated = message.subarray(0, message.length - length);
  return { keyId, nonce, plainLength, encrypted: reader.bytes(length), associated };
}

/** @throws FeedRefusedError `key`, `decrypt`, `decompress` or `format`, whatever the bytes are */
function decryptBody(body: EncryptedBody, ring: FeedKeyRing): unknown {
  const key = ring.find(body.keyId);
  if (key === null) throw new FeedRefusedError('key');
  const compressed = decryptRows(key, body.nonce, body.associated, body.encrypted);
  return decompressJson(compressed, body.plainLength, 'format');
}
