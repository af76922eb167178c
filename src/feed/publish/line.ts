/**
 * The line of batches that a publisher makes: what was sent live, and what of it the stream has not confirmed. It cuts the log into batches,
 * and after an error it compares itself with what the stream holds.
 */
import {
  type BatchSecrets,
  NO_HASH,
  type PackedRows,
  type SignedBatch,
  writeBatch,
} from '../message/batch.ts';
import { messageHash } from '../message/message.ts';

/** The last message of the stream. `batch` is null when nothing of ours: it cannot be read. */
export interface StreamEnd {
  readonly seq: number;
  readonly batch: SignedBatch | null;
  /** The message was removed, by its age or by an erasure; only its number is known. */
  readonly isRemoved: boolean;
}

interface Waiting {
  readonly message: Uint8Array;
  readonly hash: Uint8Array;
  readonly to: number;
}

/**
 * `goes-on`: the next append can be tried. `rewound`: the stream lacks what is no longer kept, so the log is read again from `after`. `other`:
 * another publisher has written.
 */
type Comparison = 'goes-on' | 'rewound' | 'other';

export interface Line {
  /** The last `seq` that was made into a batch. */
  readonly after: number;
  /** Changes when the line is rewound: what was read from the log before must not be added. */
  readonly version: number;
  /** Batches that the stream has not confirmed: at least one until the log is read again to its end. */
  readonly waiting: number;
  /** False while the stream lacks batches that are no longer kept. */
  readonly isWhole: boolean;
  add(rows: PackedRows, at: number): Uint8Array;
  /** The log has nothing more at present: what the stream lacks was added. */
  reachedEnd(): void;
  /** The next message to append, and the last `seq` of the stream that it expects. */
  next(): { readonly message: Uint8Array; readonly expectedLast: number } | null;
  /** The stream has this message now, as the next one. */
  stored(message: Uint8Array): void;
  compare(end: StreamEnd | null): Comparison;
}

/** Batches that wait for the stream. Above it they are sent live only, until the stream is back and the log is read again. */
const WAITING_MAX = 256;

/**
 * @param end of the stream; undefined: the stream cannot be read at present
 * @param after where the log is read from
 */
export function createLine(
  epoch: string,
  secrets: () => BatchSecrets,
  after: number,
  end: StreamEnd | null | undefined,
): Line {
  let waiting: Waiting[] = [];
  let isWhole = end !== undefined;
  let storedSeq = end?.seq ?? 0;
  let storedHash = end?.batch?.hash ?? NO_HASH;
  let tip = end?.batch?.to === after ? storedHash : NO_HASH;
  let version = 0;
  /** The last `seq` that the stream has confirmed, or that it begins behind. */
  let storedTo = after;
  /** What an append was begun with: it may no longer wait when the stream confirms it. */
  let offered: Waiting | null = null;
  /** Sent since the stream could not be written, and no longer kept; as long as they are not read again. */
  let dropped = 0;

  function rewind(to: StreamEnd | null): void {
    // Without a batch to go on from, from the first that the stream lacks, also when that is no longer kept.
    after = to?.batch?.to ?? storedTo;
    storedTo = after;
    storedSeq = to?.seq ?? 0;
    storedHash = to?.batch?.hash ?? NO_HASH;
    tip = storedHash;
    dropped = Math.max(1, waiting.length + dropped);
    waiting = [];
    isWhole = true;
    version++;
  }

  return {
    get after() {
      return after;
    },
    get version() {
      return version;
    },
    get waiting() {
      return waiting.length + dropped;
    },
    get isWhole() {
      return isWhole;
    },
    add(rows, at) {
      if (waiting.length === WAITING_MAX) {
        dropped = waiting.length;
        waiting = [];
        isWhole = false;
      }
      // A gap in the log: it was pruned.
      const previous = rows.from === after + 1 ? tip : NO_HASH;
      const streamSeq = isWhole ? storedSeq + waiting.length + 1 : 0;
      const header = { epoch, streamSeq, at, previous };
      const message = writeBatch(header, rows, secrets());
      after = rows.to;
      tip = messageHash(message);
      if (isWhole) waiting.push({ message, hash: tip, to: rows.to });
      else dropped++;
      return message;
    },
    reachedEnd() {
      if (isWhole) dropped = 0;
    },
    next() {
      offered = waiting[0] ?? null;
      return offered === null ? null : { message: offered.message, expectedLast: storedSeq };
    },
    stored(message) {
      storedSeq++;
      storedHash = messageHash(message);
      if (offered?.message === message) storedTo = offered.to;
      // No longer the first when too many waited meanwhile.
      if (waiting[0]?.message === message) waiting.shift();
    },
    compare(found) {
      const seq = found?.seq ?? 0;
      const hash = found?.batch?.hash ?? NO_HASH;
      // Two messages that cannot be read have equal hashes: only the number tells that it is one.
      const isSame =
        seq === storedSeq && (found?.isRemoved === true || Buffer.compare(hash, storedHash) === 0);
      if (!isWhole || seq < storedSeq) {
        const isOurs = seq < storedSeq || isSame || storedSeq === 0;
        if (isOurs) rewind(found);
        return isOurs ? 'rewound' : 'other';
      }
      if (seq === storedSeq) return isSame ? 'goes-on' : 'other';
      // An append that timed out was stored after all.
      const last = waiting[seq - storedSeq - 1];
      if (last === undefined || Buffer.compare(last.hash, hash) !== 0) return 'other';
      storedHash = last.hash;
      storedTo = last.to;
      waiting.splice(0, seq - storedSeq);
      storedSeq = seq;
      return 'goes-on';
    },
  };
}
