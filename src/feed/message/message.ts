/**
 * The one message of the feed. It is always signed. `docs/FEED.md` lists the kinds.
 *
 * | octets | field |
 * |---|---|
 * | 4, 1 | `UQRP`, version |
 * | 1, 1, 1 | kind, flags (1: answers a question; 2: body under an hourly key; 4: body to the recipient), status |
 * | 8, 12 | signer; number: random, in no other message |
 * | 8 | time of the sender's clock, milliseconds since the epoch |
 * | 1 + n, 1 + n | names of sender and recipient, `*` for all nodes |
 * | 32 | flag 1: SHA-256 of the message that is answered |
 * | 4 + n | clear part, which everybody may read |
 * | 16, 4, n | flag 2: id of the key, octets decompressed, AES-256-GCM of zstd; the number is the nonce |
 * | n | flag 4: HPKE to the X25519 key of the recipient |
 * | 64 | Ed25519 over all octets before |
 *
 * All fields before a ciphertext are its associated data.
 */

import { hash as digest, type KeyObject } from 'node:crypto';
import type { Random } from '../../base/chance.ts';
import { LIMITS } from '../../base/limits.ts';
import { NONCE_OCTETS } from '../../base/seal.ts';
import { CONTROL_NAME } from '../ports/credentials.ts';
import { type FeedRefusal, FeedRefusedError } from '../ports/refusal.ts';
import { compress, decompress, type FieldReader, field, fieldReader } from './fields.ts';
import { hpkeDecrypt, hpkeEncrypt } from './hpke.ts';
import {
  decryptBody,
  encryptBody,
  FEED_SIGNATURE_OCTETS,
  type FeedKey,
  type FeedKeyRing,
  type FeedSigner,
  type FeedVerifier,
  KEY_ID_OCTETS,
  SIGNER_OCTETS,
} from './keys.ts';

/** In the order of their numbers: a new one is added at the end. */
export const MESSAGE_KINDS = [
  // Of control, to all nodes.
  'changes',
  'head',
  'snapshot',
  // Questions of a node, and what control sends it unasked.
  'keys',
  'secrets',
  // Questions of a node.
  'bounds',
  'since',
  'pages',
  'page',
  'usage',
  'rows',
  'provider',
  // Told by a node.
  'state',
  // Questions of the command line; `publisher` is told by one control process to the others.
  'status',
  'command',
  'make',
  'publisher',
] as const;
export type MessageKind = (typeof MESSAGE_KINDS)[number];

/**
 * In the order of their numbers. Of an answer; any other message is `done`.
 * `invalid`: no repeat makes the question valid. `busy`: too many at once, nothing was done. `failed`: control could not do it now.
 */
export const ANSWER_STATUSES = ['done', 'invalid', 'busy', 'failed'] as const;
export type AnswerStatus = (typeof ANSWER_STATUSES)[number];

/** The recipient of what is for every node. No node can have this name. */
export const ALL_NODES = '*';

const MAGIC = 'UQRP';
const VERSION = 2;
const KIND_AT = 5;
const HASH_OCTETS = 32;
const FLAGS = { answers: 1, hourly: 2, sealed: 4 } as const;
const HPKE_INFO = Buffer.from('uqrp feed message 2');

interface MessageFields {
  readonly kind: MessageKind;
  readonly from: string;
  readonly to: string;
  /** By the sender's clock, milliseconds since the epoch. */
  readonly at: number;
  /** Hash of the message that this one answers; left out: it is no answer. */
  readonly answers?: Uint8Array | null;
  readonly status?: AnswerStatus;
  readonly clear?: Uint8Array;
}

/** Octets that are compressed, and how many they are decompressed. */
export interface Packed {
  readonly plainLength: number;
  readonly compressed: Uint8Array;
}

/** What a message is made with. */
export interface MessageSigning {
  readonly signer: FeedSigner;
  readonly random: Random;
}

export type MessageBody =
  | { readonly key: FeedKey; readonly packed: Packed }
  /** @param recipient X25519 public key */
  | { readonly recipient: KeyObject; readonly plain: Uint8Array };

/** A message whose signature is right. Its body is still encrypted. */
export interface SignedMessage extends Required<MessageFields> {
  readonly answers: Uint8Array | null;
  /** SHA-256 of the whole message: its answer has it. */
  readonly hash: Uint8Array;
  readonly body:
    | null
    | { readonly keyId: Uint8Array; readonly plainLength: number; readonly encrypted: Uint8Array }
    | { readonly sealed: Uint8Array };
  readonly number: Uint8Array;
  /** All octets before the body. */
  readonly associated: Uint8Array;
}

/** @throws RangeError for more than a message holds */
export function writeMessage(fields: MessageFields, signing: MessageSigning, body?: MessageBody): Uint8Array {
  const { kind, from, to, at, answers = null, status = 'done', clear = Buffer.alloc(0) } = fields;
  const number = signing.random(NONCE_OCTETS);
  const flags =
    (answers === null ? 0 : FLAGS.answers) |
    (body === undefined ? 0 : 'key' in body ? FLAGS.hourly : FLAGS.sealed);
  const head = Buffer.concat([
    Buffer.from(MAGIC),
    Buffer.of(VERSION, MESSAGE_KINDS.indexOf(kind), flags, ANSWER_STATUSES.indexOf(status)),
    signing.signer.id,
    number,
    field.u64(at),
    field.name(from),
    field.name(to),
    answers ?? Buffer.alloc(0),
    field.u32(clear.length),
    clear,
  ]);
  const message = signing.signer.sign(body === undefined ? head : withBody(head, number, body));
  if (message.length > LIMITS.feedMessage) throw new RangeError('a message is larger than the feed carries');
  return message;
}

function withBody(head: Uint8Array, number: Uint8Array, body: MessageBody): Uint8Array {
  if ('recipient' in body) {
    const text = { info: HPKE_INFO, associated: head };
    return Buffer.concat([head, hpkeEncrypt(body.recipient, text, body.plain)]);
  }
  const { key, packed } = body;
  const associated = Buffer.concat([head, key.id, field.u32(packed.plainLength)]);
  return Buffer.concat([associated, encryptBody(key, number, associated, packed.compressed)]);
}

export function messageHash(message: Uint8Array): Uint8Array {
  return digest('sha256', message, 'buffer');
}

/** Keys of a sender; null for a name that is none. */
export type VerifierOf = (from: string) => FeedVerifier | null;

/** Of a node, which hears control alone. */
export function controlOnly(verifier: FeedVerifier): VerifierOf {
  return (from) => (from === CONTROL_NAME ? verifier : null);
}

/**
 * Checks length, version, kind and signature before anything else, so that a stranger's message costs one hash and one signature.
 * @param own name of the reader; `ALL_NODES` for what is for everybody
 * @throws FeedRefusedError and nothing else, whatever the bytes are
 */
export function openMessage(
  message: Uint8Array,
  kinds: readonly MessageKind[],
  own: string,
  verifierOf: VerifierOf,
): SignedMessage {
  if (message.length > LIMITS.feedMessage || message.length <= FEED_SIGNATURE_OCTETS)
    throw new FeedRefusedError('size');
  const octets = message.subarray(0, message.length - FEED_SIGNATURE_OCTETS);
  const reader = fieldReader(octets);
  if (reader.latin1(MAGIC.length) !== MAGIC) throw new FeedRefusedError('format');
  if (reader.u8() !== VERSION) throw new FeedRefusedError('version');
  const kind = MESSAGE_KINDS[reader.u8()];
  if (kind === undefined || !kinds.includes(kind)) throw new FeedRefusedError('format');
  const [flags, status] = [reader.u8(), ANSWER_STATUSES[reader.u8()]];
  const [signer, number] = [reader.bytes(SIGNER_OCTETS), reader.bytes(NONCE_OCTETS)];
  const [at, from] = [reader.u64(), reader.name()];
  const verifier = verifierOf(from);
  if (verifier === null) throw new FeedRefusedError('signer');
  verifier.open(message, () => signer);
  const to = reader.name();
  const answers = flags & FLAGS.answers ? reader.bytes(HASH_OCTETS) : null;
  const clear = reader.bytes(reader.u32());
  if (status === undefined) throw new FeedRefusedError('format');
  if (to !== own) throw new FeedRefusedError('recipient');
  const body = bodyOf(flags & ~FLAGS.answers, reader);
  const associated = octets.subarray(0, octets.length - reader.left());
  const rest = reader.bytes(reader.left());
  return {
    ...{ kind, from, to, at, answers, status, clear, number, associated, hash: messageHash(message) },
    body:
      body === 'sealed' ? { sealed: rest } : body === 'none' ? nothing(rest) : { ...body, encrypted: rest },
  };
}

function bodyOf(
  protection: number,
  reader: FieldReader,
): 'none' | 'sealed' | { readonly keyId: Uint8Array; readonly plainLength: number } {
  if (protection === 0) return 'none';
  if (protection === FLAGS.sealed) return 'sealed';
  if (protection !== FLAGS.hourly) throw new FeedRefusedError('format');
  const [keyId, plainLength] = [reader.bytes(KEY_ID_OCTETS), reader.u32()];
  if (plainLength > LIMITS.feedBatchOctets) throw new FeedRefusedError('size');
  return { keyId, plainLength };
}

function nothing(rest: Uint8Array): null {
  if (rest.length > 0) throw new FeedRefusedError('size');
  return null;
}

/** Without any check: two kinds come at one subject. */
export function isOfKind(kind: MessageKind, message: Uint8Array): boolean {
  return message[KIND_AT] === MESSAGE_KINDS.indexOf(kind);
}

/**
 * What makes a message a new one: it answers this question, or it was made later than the last one. An answer needs no clocks that agree.
 */
export type Freshness = { readonly question: Uint8Array } | { readonly last: number };

/**
 * A message of control that is new.
 * @param own as of `openMessage`
 * @throws FeedRefusedError and nothing else, whatever the bytes are
 */
export function openFresh(
  message: Uint8Array,
  kind: MessageKind,
  own: string,
  verifier: FeedVerifier,
  fresh: Freshness,
): SignedMessage {
  const opened = openMessage(message, [kind], own, controlOnly(verifier));
  const { answers, at } = opened;
  const isNew =
    'question' in fresh
      ? answers !== null && Buffer.compare(answers, fresh.question) === 0
      : answers === null && at > fresh.last;
  if (!isNew) throw new FeedRefusedError('replayed');
  return opened;
}

/** @throws RangeError for a body above the bound */
export function packJson(value: unknown): Packed {
  const plain = Buffer.from(JSON.stringify(value));
  if (plain.length > LIMITS.feedBatchOctets)
    throw new RangeError('a body is larger than a message of the feed');
  return { plainLength: plain.length, compressed: compress(plain) };
}

/**
 * The JSON of a body under an hourly key.
 * @param malformed the refusal of a text that is no JSON
 * @throws FeedRefusedError `key`, `decrypt`, `decompress` or `malformed`, whatever the bytes are
 */
export function jsonUnderKey(
  { body, number, associated }: SignedMessage,
  ring: FeedKeyRing,
  malformed: FeedRefusal = 'format',
): unknown {
  if (body === null || 'sealed' in body) throw new FeedRefusedError(malformed);
  const key = ring.find(body.keyId);
  if (key === null) throw new FeedRefusedError('key');
  const plain = decompress(decryptBody(key, number, associated, body.encrypted), body.plainLength);
  try {
    return JSON.parse(plain.toString('utf8'));
  } catch {
    // The parser's message quotes the text.
    throw new FeedRefusedError(malformed);
  }
}

/** Name and X25519 private key of the node that reads. */
export interface Recipient {
  readonly node: string;
  readonly privateKey: KeyObject;
}

/** The body of a message for this node alone. @throws FeedRefusedError `decrypt` */
export function unsealed({ body, associated }: SignedMessage, { privateKey }: Recipient): Uint8Array {
  const sealed = body !== null && 'sealed' in body ? body.sealed : null;
  const plain = sealed && hpkeDecrypt(privateKey, { info: HPKE_INFO, associated }, sealed);
  if (plain === null) throw new FeedRefusedError('decrypt');
  return plain;
}
