/**
 * Messages about the log: changes, its ends, and control's answers with rows. `message.ts` has the fields around them.
 *
 * | octets | clear part of `changes` |
 * |---|---|
 * | 32 | SHA-256 of the batch before, zero for none |
 * | 8 | sequence number in the stream (0: none) |
 * | 8, 8 | first and last `seq` |
 * | 1 + n | epoch |
 *
 * | octets | clear part of `head`, and of every answer about the log |
 * |---|---|
 * | 8, 8 | `head`, `oldest` |
 * | 1 + n | epoch |
 * | 8, 8 | where rows follow: first and last `seq`; in a page of a snapshot the numbers of its rows, from 1 |
 * | 1 | a page of a snapshot: 1 for the last one |
 *
 * The body is the rows: a JSON list, each without its `seq`.
 */
import { LIMITS } from '../../base/limits.ts';
import type { Change } from '../../protocol/change.ts';
import {
  ChangeFormatError,
  decodeChange,
  type EncodedChange,
  encodeRow,
} from '../../protocol/changes/change-codec.ts';
import type { LogBounds } from '../ports/change-source.ts';
import { CONTROL_NAME } from '../ports/credentials.ts';
import { type FeedRefusal, FeedRefusedError } from '../ports/refusal.ts';
import { compress, type FieldReader, field, fieldReader } from './fields.ts';
import type { FeedKey, FeedKeyRing, FeedVerifier } from './keys.ts';
import {
  ALL_NODES,
  controlOnly,
  jsonUnderKey,
  type MessageSigning,
  openFresh,
  openMessage,
  type Packed,
  type SignedMessage,
  writeMessage,
} from './message.ts';

const HASH_OCTETS = 32;

/** The hash of the batch before, where there is none. */
export const NO_HASH: Uint8Array = new Uint8Array(HASH_OCTETS);
/** A heartbeat that is this far from a node's clock was held back, or one of the clocks is wrong. */
export const CLOCK_TOLERANCE_MS = 10_000;

/** First and last `seq`, or numbers of rows. */
interface RowRange {
  readonly from: number;
  readonly to: number;
}

export interface BatchHeader extends RowRange {
  readonly epoch: string;
  /** Where the publisher expects the batch in the stream; 0: it is not stored there. */
  readonly streamSeq: number;
  /** When it was made, milliseconds since the epoch. */
  readonly at: number;
  /** Hash of the batch that was published before; `NO_HASH`: unknown. */
  readonly previous: Uint8Array;
}

/** A batch whose signature and lengths are right. Its rows are still encrypted. */
export interface SignedBatch extends BatchHeader {
  /** Of the whole message. */
  readonly hash: Uint8Array;
  readonly message: SignedMessage;
}

export interface BatchSecrets extends MessageSigning {
  readonly key: FeedKey;
}

/** The message of a batch. @param rows from `packRows` */
export function writeBatch(
  { at, previous, streamSeq, epoch }: Omit<BatchHeader, 'from' | 'to'>,
  rows: PackedRows,
  secrets: BatchSecrets,
): Uint8Array {
  const clear = Buffer.concat([previous, field.u64(streamSeq), writeRange(rows), field.name(epoch)]);
  const fields = { kind: 'changes', from: CONTROL_NAME, to: ALL_NODES, at, clear } as const;
  return writeMessage(fields, secrets, { key: secrets.key, packed: rows });
}

/** @throws FeedRefusedError and nothing else, whatever the bytes are */
export function openBatch(octets: Uint8Array, verifier: FeedVerifier): SignedBatch {
  const message = openMessage(octets, ['changes'], ALL_NODES, controlOnly(verifier));
  const reader = fieldReader(message.clear);
  const previous = reader.bytes(HASH_OCTETS);
  const streamSeq = reader.u64();
  const range = readRange(reader);
  const epoch = reader.name();
  ended(reader);
  return { epoch, ...range, streamSeq, at: message.at, previous, hash: message.hash, message };
}

/**
 * The changes of a batch, ascending from `from` to `to`.
 * @throws FeedRefusedError `key`, `decrypt`, `decompress` or `rows`
 */
export function readRows(
  { message, from, to }: RowRange & { readonly message: SignedMessage },
  keys: FeedKeyRing,
): Change[] {
  const rows = jsonUnderKey(message, keys, 'rows');
  if (!Array.isArray(rows) || rows.length !== to - from + 1) throw new FeedRefusedError('rows');
  return rows.map((row: unknown, i) => changeOf(row, from + i));
}

function writeRange({ from, to }: RowRange): Uint8Array {
  return Buffer.concat([field.u64(from), field.u64(to)]);
}

function readRange(reader: FieldReader): RowRange {
  const [from, to] = [reader.u64(), reader.u64()];
  if (from < 1 || to < from) throw new FeedRefusedError('format');
  if (to - from >= LIMITS.feedBatchChanges) throw new FeedRefusedError('size');
  return { from, to };
}

function ended(reader: FieldReader): void {
  if (reader.left() > 0) throw new FeedRefusedError('size');
}

export interface FeedHead extends LogBounds {
  /** When control read its log, milliseconds since the epoch by its own clock. */
  readonly at: number;
}

/** Rows of an answer. */
export interface AnsweredRows extends RowRange {
  /** Of a page: no other follows. */
  readonly isLast: boolean;
  readonly message: SignedMessage;
}

/** The clear part of a head, and of an answer about the log. @param rows that are the body of the answer */
export function clearOf({ head, oldest, epoch }: LogBounds, rows?: RowRange, isLast = false): Uint8Array {
  const bounds = Buffer.concat([field.u64(head), field.u64(oldest), field.name(epoch)]);
  return rows === undefined ? bounds : Buffer.concat([bounds, writeRange(rows), field.u8(isLast ? 1 : 0)]);
}

/** @throws FeedRefusedError */
export function readAnswer(message: SignedMessage): {
  readonly head: FeedHead;
  readonly rows: AnsweredRows | null;
} {
  const reader = fieldReader(message.clear);
  const [head, oldest] = [reader.u64(), reader.u64()];
  const epoch = reader.name();
  if (oldest < 1 || oldest > head + 1) throw new FeedRefusedError('format');
  const has = { epoch, head, oldest, at: message.at };
  if (message.body === null) {
    ended(reader);
    return { head: has, rows: null };
  }
  const rows = { ...readRange(reader), isLast: reader.u8() === 1, message };
  ended(reader);
  return { head: has, rows };
}

/**
 * What the log holds, and when. It is the proof that a node is current, because a broker can hold messages back but cannot make
 * this one.
 */
export function writeHead(head: FeedHead, signing: MessageSigning): Uint8Array {
  const fields = { kind: 'head', from: CONTROL_NAME, to: ALL_NODES, at: head.at } as const;
  return writeMessage({ ...fields, clear: clearOf(head) }, signing);
}

/**
 * A heartbeat that is newer than the last one.
 * @param last `at` of the last heartbeat, 0 for none
 * @param now of this node's clock, milliseconds since the epoch
 * @throws FeedRefusedError and nothing else, whatever the bytes are
 */
export function openHeartbeat(
  message: Uint8Array,
  verifier: FeedVerifier,
  { last, now }: { last: number; now: number },
): FeedHead {
  const { head } = readAnswer(openFresh(message, 'head', ALL_NODES, verifier, { last }));
  if (Math.abs(head.at - now) > CLOCK_TOLERANCE_MS) throw new FeedRefusedError('clock');
  return head;
}

/** Rows of one batch, compressed. */
export interface PackedRows extends Packed, RowRange {}

/**
 * Divides changes into batches within the bounds of one message.
 * @param changes ascending without a gap, at least one
 * @param most octets of the rows of a batch of several changes, before compression, at most
 * @throws RangeError when one change alone is above the bound of all messages
 */
export function packRows(changes: readonly Change[], most: number = LIMITS.feedBatchOctets): PackedRows[] {
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
    if (rows.length === LIMITS.feedBatchChanges || octets + length + 1 > most) close();
    rows.push(row);
    octets += length;
  }
  close();
  return packed;
}

/** `seq` is left out: the header has it. */
function rowOf(change: Change): object {
  const { seq: _, data, ...row } = encodeRow(change);
  return { ...row, data: data === null ? null : Buffer.from(data).toString('base64') };
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

/** Which batch may follow which. Pure: `acceptBatch` decides, `advanceChain` makes the next state. */

/** What a node has of the feed. */
export interface ChainState {
  readonly epoch: string;
  /** The last `seq` that the node has. */
  readonly seq: number;
  /**
   * Hashes in hex of batches that end with `seq`. Several, because a publisher that takes over may cut the log into other batches.
   * Empty: none is known, and the next batch is taken by its `seq` alone, as after a start.
   */
  readonly tips: readonly string[];
}

type ChainDecision =
  /** The changes from `from` on are new. */
  | { readonly do: 'apply'; readonly from: number }
  | { readonly do: 'duplicate' }
  /** The changes `from` to `to` are missing. */
  | { readonly do: 'hole'; readonly from: number; readonly to: number }
  | { readonly do: 'refused'; readonly reason: FeedRefusal };

type ChainedHeader = Pick<BatchHeader, 'epoch' | 'from' | 'to' | 'previous'> & {
  readonly hash: Uint8Array;
};

/** More different batches than this do not end at one `seq` unless publishers fight. */
const TIPS_MAX = 8;

/** @param seq cursor of the view; the hash of what it applied last is not kept */
export function chainAt(epoch: string, seq: number): ChainState {
  return { epoch, seq, tips: [] };
}

/**
 * @param batch signed. A batch that overlaps what the node has is not compared with the tips: the hash in the middle of a batch is
 *   not known, and the rows are those of a log that never changes.
 */
export function acceptBatch(state: ChainState, batch: ChainedHeader): ChainDecision {
  if (batch.epoch !== state.epoch) return { do: 'refused', reason: 'epoch' };
  if (batch.to <= state.seq) return { do: 'duplicate' };
  if (batch.from > state.seq + 1) return { do: 'hole', from: state.seq + 1, to: batch.from - 1 };
  if (batch.from === state.seq + 1 && !follows(state, batch.previous)) {
    return { do: 'refused', reason: 'chain' };
  }
  return { do: 'apply', from: state.seq + 1 };
}

function follows({ tips }: ChainState, previous: Uint8Array): boolean {
  return tips.length === 0 || previous.every((octet) => octet === 0) || tips.includes(hex(previous));
}

/** The state after a batch that was applied or is a duplicate. */
export function advanceChain(state: ChainState, batch: ChainedHeader): ChainState {
  if (batch.to < state.seq) return state;
  const tip = hex(batch.hash);
  if (batch.to > state.seq) return { epoch: state.epoch, seq: batch.to, tips: [tip] };
  if (state.tips.length === 0 || state.tips.includes(tip) || state.tips.length === TIPS_MAX) return state;
  return { ...state, tips: [...state.tips, tip] };
}

function hex(hash: Uint8Array): string {
  return Buffer.from(hash).toString('hex');
}
