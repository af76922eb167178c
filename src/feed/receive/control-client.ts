/** Asks control. Every answer is checked, and proves that control was reached now. */

import { LIMITS } from '../../base/limits.ts';
import type { Change, ChangeBody } from '../../protocol/change.ts';
import { type Bus, BusError, pageSubject, SUBJECTS, subjectOfNode } from '../bus/bus.ts';
import { NO_HASH, openBatch, readRows, type SignedBatch } from '../message/batch.ts';
import { type FeedHead, openAnswer, QUESTION_OCTETS } from '../message/head.ts';
import type { FeedKeyRing, FeedVerifier } from '../message/message.ts';
import { answerNumber, numberText, type Question, readAnswer, writeQuestion } from '../message/question.ts';
import type { LogBounds, Snapshot } from '../ports/change-source.ts';
import { type FeedRefusal, FeedRefusedError } from '../ports/refusal.ts';

interface ControlClientOptions {
  /** Who asks: the name in the credentials. */
  readonly node: string;
  readonly bus: Bus;
  readonly verifier: FeedVerifier;
  readonly keys: () => FeedKeyRing;
  readonly random: (octets: number) => Uint8Array;
  /** Called with each answer that was right, before it is used. @param isLog false: the head is that of a snapshot */
  readonly onAnswer: (head: FeedHead, isLog: boolean) => void;
  /** An answer that was not used; the call rejects too. */
  readonly onRefused?: (reason: FeedRefusal) => void;
}

/** Calls reject with `BusError`, and with `FeedRefusedError` for an answer that must not be used. */
interface ControlClient {
  bounds(): Promise<LogBounds>;
  /** At most `limit`; fewer when they would not fit into one message. */
  since(
    seq: number,
    limit: number,
  ): Promise<{ readonly head: FeedHead; readonly changes: readonly Change[] }>;
  openSnapshot(): Promise<Snapshot>;
}

const ANSWER_MS = 2_000;
/** A page that is lost on the way is asked for again. */
const PAGE_ATTEMPTS = 3;

export function createControlClient(options: ControlClientOptions): ControlClient {
  const { bus, verifier, keys, random, onAnswer, onRefused } = options;
  const toControl = subjectOfNode(SUBJECTS.get, options.node);

  async function counted<T>(run: () => Promise<T>): Promise<T> {
    try {
      return await run();
    } catch (error) {
      if (error instanceof FeedRefusedError) onRefused?.(error.reason);
      throw error;
    }
  }

  async function ask(
    question: Question,
    subject = toControl,
    number = random(QUESTION_OCTETS),
  ): Promise<{ readonly head: FeedHead; readonly batch: SignedBatch | null }> {
    const answer = await bus.request(subject, writeQuestion({ number, question }), ANSWER_MS);
    // Control is there, and cannot answer now.
    if (answer.length === 0) throw new BusError('failed');
    const { head: signed, batch } = readAnswer(answer);
    const opened = batch === null ? null : openBatch(batch, verifier);
    const head = openAnswer(signed, verifier, answerNumber(number, batch));
    if (opened !== null && opened.epoch !== head.epoch) throw new FeedRefusedError('epoch');
    onAnswer(head, question.ask !== 'snapshot');
    return { head, batch: opened };
  }

  async function askPage(subject: string, from: number): Promise<SignedBatch | null> {
    for (let attempt = 1; ; attempt++) {
      try {
        return (await ask({ ask: 'page', from }, subject)).batch;
      } catch (error) {
        const isLost = error instanceof BusError && error.reason === 'timeout';
        if (!isLost || attempt === PAGE_ATTEMPTS) throw error;
      }
    }
  }

  /** Null when the snapshot has no rows. */
  async function page(
    id: Uint8Array,
    { epoch, head: seq }: FeedHead,
    last: { readonly from: number; readonly hash: Uint8Array },
  ): Promise<{ readonly batch: SignedBatch; readonly bodies: readonly ChangeBody[] } | null> {
    const batch = await askPage(pageSubject(numberText(id)), last.from);
    if (batch === null && last.from === 1) return null;
    const isNext =
      batch !== null &&
      batch.kind !== 'changes' &&
      batch.from === last.from &&
      batch.epoch === epoch &&
      batch.streamSeq === seq &&
      Buffer.compare(batch.previous, last.hash) === 0;
    if (!isNext) throw new FeedRefusedError('chain');
    const bodies = readRows(batch, keys()).map(
      ({ seq: _seq, at: _at, owner: _owner, cause: _cause, ...body }) => body,
    );
    return { batch, bodies };
  }

  async function* pages(id: Uint8Array, head: FeedHead): AsyncGenerator<readonly ChangeBody[]> {
    let last = { from: 1, hash: NO_HASH };
    for (;;) {
      const from = last;
      const next = await counted(() => page(id, head, from));
      if (next === null) return;
      yield next.bodies;
      if (next.batch.kind === 'last-page') return;
      last = { from: next.batch.to + 1, hash: next.batch.hash };
    }
  }

  return {
    bounds: () => counted(async () => (await ask({ ask: 'bounds' })).head),
    since: (seq, limit) =>
      counted(async () => {
        const most = Math.min(limit, LIMITS.feedBatchChanges);
        const { head, batch } = await ask({ ask: 'since', seq, limit: most });
        if (batch === null) return { head, changes: [] };
        if (batch.kind !== 'changes' || batch.from <= seq) throw new FeedRefusedError('chain');
        return { head, changes: readRows(batch, keys()) };
      }),
    openSnapshot: () =>
      counted(async () => {
        const id = random(QUESTION_OCTETS);
        const { head } = await ask({ ask: 'snapshot' }, toControl, id);
        return { epoch: head.epoch, seq: head.head, pages: pages(id, head) };
      }),
  };
}
