/**
 * A message for one node: encrypted to its X25519 key (HPKE), signed by control. It may be given to anybody who asks for it.
 *
 * | octets | field |
 * |---|---|
 * | 4 | kind |
 * | 1, 1, 2 | version, flags (0), shard |
 * | 8 | signer |
 * | 16 | number of the question that this answers, zero for a message that nobody asked for |
 * | 8 | time |
 * | 1 + n | name of the node |
 * | 4 | length of what follows, without the signature |
 * | n | HPKE; all fields before are associated data |
 * | 64 | Ed25519 |
 */
import type { KeyObject } from 'node:crypto';
import { LIMITS } from '../../base/limits.ts';
import { FeedRefusedError } from '../ports/refusal.ts';
import { NO_QUESTION, QUESTION_OCTETS } from './head.ts';
import { hpkeDecrypt, hpkeEncrypt } from './hpke.ts';
import {
  type FeedSigner,
  type FeedVerifier,
  field,
  openSigned,
  type SealedKind,
  SHARD,
  writePreamble,
} from './message.ts';

/** Kind of a message, and what HPKE binds it to. */
export interface SealedType {
  readonly kind: SealedKind;
  readonly info: Uint8Array;
}

interface SealedMessage {
  readonly node: string;
  /** Of control's clock, milliseconds since the epoch. */
  readonly at: number;
  readonly plain: Uint8Array;
}

/** Name and X25519 private key of the node that reads. */
export interface Recipient {
  readonly node: string;
  readonly privateKey: KeyObject;
}

/**
 * What makes a message a new one: it is later than the last one, or it answers this question. An answer needs no clocks that agree.
 */
export type Freshness = { readonly last: number } | { readonly question: Uint8Array };

/** @param recipient X25519 public key of the node. @param question that is answered; left out: nobody asked */
export function writeSealed(
  { kind, info }: SealedType,
  { node, at, plain }: SealedMessage,
  recipient: KeyObject,
  signer: FeedSigner,
  question: Uint8Array = NO_QUESTION,
): Uint8Array {
  const associated = Buffer.concat([
    writePreamble(kind, { flags: 0, shard: SHARD }, signer),
    question,
    field.u64(at),
    field.name(node),
  ]);
  const encrypted = hpkeEncrypt(recipient, { info, associated }, plain);
  const message = signer.sign(Buffer.concat([associated, field.u32(encrypted.length), encrypted]));
  if (message.length > LIMITS.feedMessage)
    throw new RangeError('a message for a node is larger than a message of the feed');
  return message;
}

/** @throws FeedRefusedError and nothing else, whatever the bytes are */
export function openSealed(
  { kind, info }: SealedType,
  message: Uint8Array,
  verifier: FeedVerifier,
  own: Recipient,
  fresh: Freshness,
): SealedMessage {
  if (message.length > LIMITS.feedMessage) throw new FeedRefusedError('size');
  const { body, reader, flags, shard } = openSigned(kind, message, verifier);
  const answered = reader.bytes(QUESTION_OCTETS);
  const at = reader.u64();
  const node = reader.name();
  const associated = body.subarray(0, body.length - reader.left());
  const encrypted = reader.bytes(reader.u32());
  if (reader.left() > 0) throw new FeedRefusedError('size');
  if (flags !== 0) throw new FeedRefusedError('format');
  if (shard !== SHARD) throw new FeedRefusedError('shard');
  if (node !== own.node) throw new FeedRefusedError('recipient');
  const expected = 'question' in fresh ? fresh.question : NO_QUESTION;
  if (Buffer.compare(answered, expected) !== 0) throw new FeedRefusedError('replayed');
  if ('last' in fresh && at <= fresh.last) throw new FeedRefusedError('replayed');
  const plain = hpkeDecrypt(own.privateKey, { info, associated }, encrypted);
  if (plain === null) throw new FeedRefusedError('decrypt');
  return { node, at, plain };
}
