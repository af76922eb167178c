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
import { LIMITS } from '../../base/limits.ts';
import type { BatchSecrets } from '../batch/batch.ts';
import type { FeedKeyRing } from '../batch/feed-key.ts';
import { openSigned, SHARD, writePreamble } from '../batch/preamble.ts';
import { FeedRefusedError } from '../batch/refusal.ts';
import type { FeedVerifier } from '../batch/signature.ts';
import { decryptBody, encryptBody, readEncrypted } from './encrypted-body.ts';

/**
 * In the order of their numbers: a new one is added at the end.
 * `invalid`: no repeat makes the request valid. `busy`: above the node's rate limit, nothing was done. `failed`: control could not do it now.
 */
export const ANSWER_STATUSES = ['done', 'invalid', 'busy', 'failed'] as const;
export type AnswerStatus = (typeof ANSWER_STATUSES)[number];

const HASH_OCTETS = 32;

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
  const answered = reader.bytes(HASH_OCTETS);
  if (status === undefined) throw new FeedRefusedError('format');
  if (shard !== SHARD) throw new FeedRefusedError('shard');
  if (Buffer.compare(answered, request) !== 0) throw new FeedRefusedError('replayed');
  const encrypted = readEncrypted(reader, body);
  return { status, body: encrypted === null ? null : decryptBody(encrypted, ring) };
}
