/**
 * What a node asks control, and how the answer is framed. A question is JSON and not signed: it changes nothing. The broker lets a node ask
 * at its own subject alone, so that control can bound what each asks at once. The answer is the
 * signed head with the question's number, and behind it at most one batch.
 */
import { createHash } from 'node:crypto';
import { LIMITS } from '../../base/limits.ts';
import { FeedRefusedError } from '../ports/refusal.ts';
import { QUESTION_OCTETS } from './head.ts';
import { field, fieldReader } from './message.ts';

export type Question =
  | { readonly ask: 'bounds' }
  /** Changes after `seq`, as many as a batch holds. */
  | { readonly ask: 'since'; readonly seq: number; readonly limit: number }
  /** Opens a snapshot, whose pages are asked for at a subject of its own. `head` of the answer is its `seq`. */
  | { readonly ask: 'snapshot' }
  /** The page that begins with row `from`: the last one again, or the next. */
  | { readonly ask: 'page'; readonly from: number }
  /** The hourly keys or the secrets of a node: the answer is a message encrypted to it (`sealed.ts`). */
  | { readonly ask: 'keys' | 'secrets'; readonly node: string };

export interface NumberedQuestion {
  /** 16 random octets: only the answer to this question has them. */
  readonly number: Uint8Array;
  readonly question: Question;
}

const VERSION = 1;
/** The longest question has less. */
const QUESTION_MAX = 256;
const NUMBER = /^[0-9a-f]{32}$/;

export function writeQuestion({ number, question }: NumberedQuestion): Uint8Array {
  return Buffer.from(JSON.stringify({ v: VERSION, number: numberText(number), ...question }));
}

export function numberText(number: Uint8Array): string {
  return Buffer.from(number).toString('hex');
}

/** @returns null for anything but a question of this version */
export function readQuestion(data: Uint8Array): NumberedQuestion | null {
  if (data.length > QUESTION_MAX) return null;
  let value: unknown;
  try {
    value = JSON.parse(Buffer.from(data).toString('utf8'));
  } catch {
    return null;
  }
  if (typeof value !== 'object' || value === null) return null;
  const { v, number, ask, seq, limit, from, node } = value as Readonly<Record<string, unknown>>;
  if (v !== VERSION || typeof number !== 'string' || !NUMBER.test(number)) return null;
  const numbered = (question: Question): NumberedQuestion => ({
    number: Buffer.from(number, 'hex'),
    question,
  });
  if (ask === 'bounds' || ask === 'snapshot') return numbered({ ask });
  if (ask === 'since' && isCount(seq) && isCount(limit) && limit >= 1 && limit <= LIMITS.feedBatchChanges) {
    return numbered({ ask, seq, limit });
  }
  if ((ask === 'keys' || ask === 'secrets') && typeof node === 'string') return numbered({ ask, node });
  return ask === 'page' && isCount(from) ? numbered({ ask, from }) : null;
}

function isCount(value: unknown): value is number {
  return Number.isSafeInteger(value) && (value as number) >= 0;
}

/**
 * What the head of an answer is signed for: the question, and the batch behind the head. Else a broker could take the batch away, or put another
 * one in its place.
 */
export function answerNumber(number: Uint8Array, batch: Uint8Array | null): Uint8Array {
  if (batch === null) return number;
  return createHash('sha256').update(number).update(batch).digest().subarray(0, QUESTION_OCTETS);
}

/** @param batch null: there is none */
export function writeAnswer(head: Uint8Array, batch: Uint8Array | null): Uint8Array {
  return Buffer.concat([field.u16(head.length), head, batch ?? Buffer.alloc(0)]);
}

/** Control could not answer, but is there. */
export const NO_ANSWER: Uint8Array = new Uint8Array(0);

/** @throws FeedRefusedError `size` */
export function readAnswer(answer: Uint8Array): { head: Uint8Array; batch: Uint8Array | null } {
  if (answer.length < QUESTION_OCTETS) throw new FeedRefusedError('size');
  const reader = fieldReader(answer);
  const head = reader.bytes(reader.u16());
  const left = reader.left();
  return { head, batch: left === 0 ? null : reader.bytes(left) };
}
