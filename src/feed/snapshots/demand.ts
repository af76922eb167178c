/** A snapshot on demand: the command line asks over the bus, the control process that makes snapshots answers. */
import type { Clock } from '../../base/clock.ts';
import { every } from '../../base/lifecycle/every.ts';
import type { Timers } from '../../base/lifecycle/timers.ts';
import { type Bus, SUBJECTS } from '../bus/bus.ts';
import { openAnswer, QUESTION_OCTETS, writeHead } from '../message/head.ts';
import type { FeedSigner, FeedVerifier } from '../message/message.ts';
import { readQuestion, writeQuestion } from '../message/question.ts';
import type { MadeSnapshot } from './child-process.ts';

interface DemandOptions {
  readonly bus: Bus;
  readonly signer: FeedSigner;
  readonly isLeading: () => boolean;
  readonly clock: Clock;
  readonly make: () => Promise<MadeSnapshot>;
  readonly timers?: Timers;
}

/** Leadership moves; only the leader listens, because a broker gives a question to one of those who do. */
const LOOK_MS = 500;
/** Questions are not signed: a broker can make up any number of them, and a snapshot takes minutes. */
const AT_ONCE = 16;
/** A view of tens of gigabytes takes minutes. */
const ANSWER_MS = 300_000;

export function answerDemands(options: DemandOptions): { stop(): Promise<void> } {
  const { bus, signer, isLeading, clock, make, timers } = options;
  let stopAnswers: (() => void) | null = null;
  let answering = 0;

  async function answer(data: Uint8Array): Promise<Uint8Array | null> {
    const asked = readQuestion(data);
    if (asked?.question.ask !== 'snapshot' || answering >= AT_ONCE) return null;
    answering++;
    try {
      const { epoch, seq } = await make();
      return writeHead({ epoch, head: seq, oldest: 1, at: clock() }, signer, asked.number);
    } finally {
      answering--;
    }
  }

  const looking = every({
    ms: LOOK_MS,
    task() {
      if (isLeading()) stopAnswers ??= bus.respond(SUBJECTS.makeSnapshot, answer);
      else {
        stopAnswers?.();
        stopAnswers = null;
      }
    },
    onError: () => {},
    ...(timers === undefined ? {} : { timers }),
  });
  return {
    async stop() {
      stopAnswers?.();
      await looking.stop();
    },
  };
}

/**
 * @returns `seq` of the snapshot that was made
 * @throws BusError `no_responders`: no control process makes snapshots now. `timeout`: it could not be made. FeedRefusedError for a false answer
 */
export async function demandSnapshot(
  bus: Bus,
  verifier: FeedVerifier,
  random: (octets: number) => Uint8Array,
  answerMs = ANSWER_MS,
): Promise<number> {
  const number = random(QUESTION_OCTETS);
  const question = writeQuestion({ number, question: { ask: 'snapshot' } });
  return openAnswer(await bus.request(SUBJECTS.makeSnapshot, question, answerMs), verifier, number).head;
}
