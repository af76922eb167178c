/**
 * What the log holds, and when: a signed heartbeat, or the answer to a question. It is the proof that a node is current, because a
 * broker can hold messages back but cannot make this one.
 *
 * | octets | field |
 * |---|---|
 * | 4 | `UQFH` |
 * | 1, 1, 2 | version, flags (0), shard |
 * | 8 | signer |
 * | 16 | number of the question that this answers, zero for a heartbeat |
 * | 8, 8, 8 | `head`, `oldest`, time |
 * | 1 + n | epoch |
 * | 64 | Ed25519 |
 */
import type { LogBounds } from '../ports/change-source.ts';
import { FeedRefusedError } from '../ports/refusal.ts';
import { type FeedSigner, type FeedVerifier, field, openSigned, SHARD, writePreamble } from './message.ts';

/** Octets of a question's number. They are random, so no earlier answer can have them. */
export const QUESTION_OCTETS = 16;
/** In place of that number, where nobody asked. */
export const NO_QUESTION: Uint8Array = new Uint8Array(QUESTION_OCTETS);
/** A heartbeat that is this far from a node's clock was held back, or one of the clocks is wrong. */
export const CLOCK_TOLERANCE_MS = 10_000;

export interface FeedHead extends LogBounds {
  /** When control read its log, milliseconds since the epoch by its own clock. */
  readonly at: number;
}

/** @param question that is answered; left out: a heartbeat */
export function writeHead(
  head: FeedHead,
  signer: FeedSigner,
  question: Uint8Array = NO_QUESTION,
): Uint8Array {
  return signer.sign(
    Buffer.concat([
      writePreamble('UQFH', { flags: 0, shard: SHARD }, signer),
      question,
      field.u64(head.head),
      field.u64(head.oldest),
      field.u64(head.at),
      field.name(head.epoch),
    ]),
  );
}

/**
 * A heartbeat that is newer than the last one.
 * @param last `at` of the last heartbeat of this signer, 0 for none
 * @param now of this node's clock, milliseconds since the epoch
 * @throws FeedRefusedError and nothing else, whatever the bytes are
 */
export function openHeartbeat(
  message: Uint8Array,
  verifier: FeedVerifier,
  { last, now }: { last: number; now: number },
): FeedHead {
  const head = open(message, verifier, NO_QUESTION);
  if (Math.abs(head.at - now) > CLOCK_TOLERANCE_MS) throw new FeedRefusedError('clock');
  if (head.at <= last) throw new FeedRefusedError('replayed');
  return head;
}

/**
 * The answer to a question. Clocks need not agree: only this question's answer has its number.
 * @throws FeedRefusedError and nothing else, whatever the bytes are
 */
export function openAnswer(message: Uint8Array, verifier: FeedVerifier, question: Uint8Array): FeedHead {
  return open(message, verifier, question);
}

function open(message: Uint8Array, verifier: FeedVerifier, question: Uint8Array): FeedHead {
  const { reader, flags, shard } = openSigned('UQFH', message, verifier);
  const answered = reader.bytes(QUESTION_OCTETS);
  const [head, oldest, at] = [reader.u64(), reader.u64(), reader.u64()];
  const epoch = reader.name();
  if (reader.left() > 0) throw new FeedRefusedError('size');
  if (flags !== 0 || oldest < 1 || oldest > head + 1) throw new FeedRefusedError('format');
  if (shard !== SHARD) throw new FeedRefusedError('shard');
  if (Buffer.compare(answered, question) !== 0) throw new FeedRefusedError('replayed');
  return { epoch, head, oldest, at };
}
