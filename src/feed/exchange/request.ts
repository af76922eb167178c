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
import { LIMITS } from '../../base/limits.ts';
import type { FeedKeyRing } from '../batch/feed-key.ts';
import { field, fieldReader } from '../batch/fields.ts';
import { QUESTION_OCTETS } from '../batch/head.ts';
import { openSigned, SHARD, writePreamble } from '../batch/preamble.ts';
import { FeedRefusedError } from '../batch/refusal.ts';
import { type FeedSigner, feedVerifier } from '../batch/signature.ts';
import {
  type BodyKey,
  decryptBody,
  type EncryptedBody,
  encryptBody,
  readEncrypted,
} from './encrypted-body.ts';

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

export interface RequestFields {
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

export interface RequestSecrets extends BodyKey {
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
