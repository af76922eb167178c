/** The fields that every message of the feed begins with: kind (4), version (1), flags (1), shard (2), signer (8). */
import { type FieldReader, field, fieldReader } from './fields.ts';
import { FeedRefusedError } from './refusal.ts';
import type { FeedSigner, FeedVerifier } from './signature.ts';

/** Hourly keys, secrets. */
export type SealedKind = 'UQFK' | 'UQFP';

/** Batch, head, those that are for one node; request of a node, and its answer (`feed/exchange`); manifest of a snapshot. */
export type MessageKind = 'UQFB' | 'UQFH' | SealedKind | 'UQFN' | 'UQFA' | 'UQFS';

const VERSION = 1;
const KIND_OCTETS = 4;
const SIGNER_OCTETS = 8;
/** The only shard of this release. */
export const SHARD = 0;

export interface Preamble {
  readonly flags: number;
  readonly shard: number;
}

/** Without any check: two kinds come at one subject. */
export function isKind(kind: MessageKind, message: Uint8Array): boolean {
  return Buffer.from(message.subarray(0, KIND_OCTETS)).toString('latin1') === kind;
}

export function writePreamble(kind: MessageKind, { flags, shard }: Preamble, signer: FeedSigner): Uint8Array {
  return Buffer.concat([Buffer.from(kind), field.u8(VERSION), field.u8(flags), field.u16(shard), signer.id]);
}

/**
 * Checks kind and version, then the signature, before any other field is looked at: a stranger's message costs no more.
 * @returns the message without its signature, and a reader of the fields after the preamble
 * @throws FeedRefusedError
 */
export function openSigned(
  kind: MessageKind,
  message: Uint8Array,
  verifier: FeedVerifier,
): Preamble & { readonly body: Uint8Array; readonly reader: FieldReader } {
  const body = verifier.open(message, (unverified) => read(kind, unverified).signer);
  const { reader, flags, shard } = read(kind, body);
  return { body, reader, flags, shard };
}

function read(
  kind: MessageKind,
  body: Uint8Array,
): Preamble & { readonly reader: FieldReader; readonly signer: Uint8Array } {
  const reader = fieldReader(body);
  if (reader.latin1(KIND_OCTETS) !== kind) throw new FeedRefusedError('format');
  if (reader.u8() !== VERSION) throw new FeedRefusedError('version');
  const [flags, shard] = [reader.u8(), reader.u16()];
  return { reader, flags, shard, signer: reader.bytes(SIGNER_OCTETS) };
}
