/**
 * One message of changes: a header in clear text, the rows compressed and encrypted, a signature over all.
 *
 * | octets | field |
 * |---|---|
 * | 4 | `UQFB` |
 * | 1, 1, 2 | version, flags (1: page of a snapshot, 2: last page), shard |
 * | 8, 16, 12 | signer, key id, nonce |
 * | 32 | SHA-256 of the batch before, zero for none |
 * | 8, 8, 8, 8 | `from`, `to`, sequence number in the stream (0: none), time |
 * | 4, 4 | length of the rows decompressed, and encrypted with tag |
 * | 1 + n | epoch |
 * | n | rows: AES-256-GCM, the header is the associated data |
 * | 64 | Ed25519 |
 */
import { hash } from 'node:crypto';
import { NONCE_OCTETS, TAG_OCTETS } from '../../base/aes-gcm.ts';
import { LIMITS } from '../../base/limits.ts';
import type { Change } from '../../protocol/change.ts';
import {
  ChangeFormatError,
  decodeChange,
  type EncodedChange,
  encodeChange,
} from '../../protocol/changes/change-codec.ts';
import { FeedRefusedError } from '../ports/refusal.ts';
import {
  compress,
  decompressJson,
  decryptRows,
  encryptRows,
  type FeedKey,
  type FeedKeyRing,
  type FeedSigner,
  type FeedVerifier,
  field,
  KEY_ID_OCTETS,
  openSigned,
  writePreamble,
} from './message.ts';

const HASH_OCTETS = 32;
const FLAGS = { page: 1, last: 2 } as const;

/** The hash of the batch before, where there is none. */
export const NO_HASH: Uint8Array = new Uint8Array(HASH_OCTETS);

export interface BatchHeader {
  readonly epoch: string;
  /** Always 0 in this release. */
  readonly shard: number;
  /** First and last `seq`; in a page of a snapshot: numbers of its rows, from 1. */
  readonly from: number;
  readonly to: number;
  /** Where the publisher expects the batch in the stream; 0: it is not stored there. A page: `seq` of the snapshot. */
  readonly streamSeq: number;
  /** When it was made, milliseconds since the epoch. */
  readonly at: number;
  /** Hash of the batch that was published before; `NO_HASH`: unknown. */
  readonly previous: Uint8Array;
  /** `page`: rows of a snapshot, not changes. */
  readonly kind: 'changes' | 'page' | 'last-page';
}

/** A batch whose signature and lengths are right. Its rows are still encrypted. */
export interface SignedBatch extends BatchHeader {
  /** Of the whole message. */
  readonly hash: Uint8Array;
  readonly keyId: Uint8Array;
  readonly nonce: Uint8Array;
  readonly plainLength: number;
  readonly encrypted: Uint8Array;
  /** The header as it was received. */
  readonly associated: Uint8Array;
}

export interface BatchSecrets {
  readonly key: FeedKey;
  readonly signer: FeedSigner;
  readonly random: (octets: number) => Uint8Array;
}

export function batchHash(message: Uint8Array): Uint8Array {
  return hash('sha256', message, 'buffer');
}

/** The message of a batch. @param rows from `packRows` */
export function writeBatch(
  header: Omit<BatchHeader, 'from' | 'to'>,
  rows: PackedRows,
  { key, signer, random }: BatchSecrets,
): Uint8Array {
  const nonce = random(NONCE_OCTETS);
  const associated = Buffer.concat([
    writePreamble('UQFB', { flags: flagsOf(header.kind), shard: header.shard }, signer),
    key.id,
    nonce,
    header.previous,
    field.u64(rows.from),
    field.u64(rows.to),
    field.u64(header.streamSeq),
    field.u64(header.at),
    field.u32(rows.plainLength),
    field.u32(rows.compressed.length + TAG_OCTETS),
    field.name(header.epoch),
  ]);
  const message = signer.sign(
    Buffer.concat([associated, encryptRows(key, nonce, associated, rows.compressed)]),
  );
  if (message.length > LIMITS.feedMessage)
    throw new RangeError('a batch is larger than a message of the feed');
  return message;
}

function flagsOf(kind: BatchHeader['kind']): number {
  if (kind === 'changes') return 0;
  return kind === 'page' ? FLAGS.page : FLAGS.page | FLAGS.last;
}

/**
 * Checks length, version and signature before anything else, so that a stranger's message costs one hash and one signature.
 * @throws FeedRefusedError and nothing else, whatever the bytes are
 */
export function openBatch(message: Uint8Array, verifier: FeedVerifier): SignedBatch {
  if (message.length > LIMITS.feedMessage) throw new FeedRefusedError('size');
  const { body, reader, flags, shard } = openSigned('UQFB', message, verifier);
  const keyId = reader.bytes(KEY_ID_OCTETS);
  const nonce = reader.bytes(NONCE_OCTETS);
  const previous = reader.bytes(HASH_OCTETS);
  const [from, to, streamSeq, at] = [reader.u64(), reader.u64(), reader.u64(), reader.u64()];
  const [plainLength, length] = [reader.u32(), reader.u32()];
  const epoch = reader.name();
  if (reader.left() !== length) throw new FeedRefusedError('size');
  if (plainLength > LIMITS.feedBatchOctets) throw new FeedRefusedError('size');
  if (from < 1 || to < from) throw new FeedRefusedError('format');
  if (to - from >= LIMITS.feedBatchChanges) throw new FeedRefusedError('size');
  const associated = body.subarray(0, body.length - length);
  const encrypted = reader.bytes(length);
  const head = { epoch, shard, from, to, streamSeq, at, previous, kind: kindOf(flags) };
  return { ...head, hash: batchHash(message), keyId, nonce, plainLength, encrypted, associated };
}

function kindOf(flags: number): BatchHeader['kind'] {
  if (flags === 0) return 'changes';
  if (flags === FLAGS.page) return 'page';
  if (flags === (FLAGS.page | FLAGS.last)) return 'last-page';
  throw new FeedRefusedError('format');
}

/**
 * The changes of a batch, ascending from `from` to `to`.
 * @throws FeedRefusedError `key`, `decrypt`, `decompress` or `rows`
 */
export function readRows(batch: SignedBatch, keys: FeedKeyRing): Change[] {
  const key = keys.find(batch.keyId);
  if (key === null) throw new FeedRefusedError('key');
  const compressed = decryptRows(key, batch.nonce, batch.associated, batch.encrypted);
  const count = batch.to - batch.from + 1;
  return unpackRows(compressed, { from: batch.from, count, plainLength: batch.plainLength });
}

/** Rows of changes as compressed JSON, with a bound on every length before memory is taken for it. */

/** Rows of one batch, compressed. */
export interface PackedRows {
  /** Of the first and of the last row. */
  readonly from: number;
  readonly to: number;
  readonly plainLength: number;
  readonly compressed: Uint8Array;
}

/**
 * Divides changes into batches within the bounds of one message.
 * @param changes ascending without a gap, at least one
 * @throws RangeError when one change alone is above the bound
 */
export function packRows(changes: readonly Change[]): PackedRows[] {
  const packed: PackedRows[] = [];
  let rows: string[] = [];
  let octets = 0;
  let from = changes[0]?.seq ?? 0;
  const close = (): void => {
    if (rows.length === 0) return;
    const plain = Buffer.from(`[${rows.join(',')}]`);
    packed.push({
      from,
      to: from + rows.length - 1,
      plainLength: plain.length,
      compressed: compress(plain),
    });
    from += rows.length;
    rows = [];
    octets = 0;
  };
  for (const change of changes) {
    const row = JSON.stringify(rowOf(change));
    // With the comma or bracket before it; the last bracket is the 1 below.
    const length = Buffer.byteLength(row) + 1;
    if (length + 1 > LIMITS.feedBatchOctets)
      throw new RangeError(`change ${change.seq} is too large for a batch`);
    if (rows.length === LIMITS.feedBatchChanges || octets + length + 1 > LIMITS.feedBatchOctets) close();
    rows.push(row);
    octets += length;
  }
  close();
  return packed;
}

/** `seq` is left out: the header has it. */
function rowOf(change: Change): object {
  const { seq: _, data, ...row } = encodeChange(change);
  return { ...row, data: data === null ? null : Buffer.from(data).toString('base64') };
}

/**
 * @param from `seq` of the first row
 * @param count rows that the header states, at most `LIMITS.feedBatchChanges`
 * @param plainLength that the header states, at most `LIMITS.feedBatchOctets`
 * @throws FeedRefusedError `decompress` or `rows`, whatever the bytes are
 */
function unpackRows(
  compressed: Uint8Array,
  { from, count, plainLength }: { from: number; count: number; plainLength: number },
): Change[] {
  const rows = decompressJson(compressed, plainLength, 'rows');
  if (!Array.isArray(rows) || rows.length !== count) throw new FeedRefusedError('rows');
  return rows.map((row: unknown, i) => changeOf(row, from + i));
}

function changeOf(row: unknown, seq: number): Change {
  if (typeof row !== 'object' || row === null) throw new FeedRefusedError('rows');
  const { data = null, ...rest } = row as { data?: unknown };
  if (data !== null && typeof data !== 'string') throw new FeedRefusedError('rows');
  try {
    // The decoder checks every member.
    return decodeChange({
      ...(rest as EncodedChange),
      seq,
      data: data === null ? null : Buffer.from(data, 'base64'),
    });
  } catch (error) {
    if (error instanceof ChangeFormatError) throw new FeedRefusedError('rows');
    throw error;
  }
}
