/** Asks control for keys until they have come: at each connect, and when something is missing. */
import { loop } from '../../base/lifecycle/loop.ts';
import type { Timers } from '../../base/lifecycle/timers.ts';
import { createWaker } from '../../base/lifecycle/waker.ts';
import { QUESTION_OCTETS } from '../batch/head.ts';
import { type Question, writeQuestion } from '../batch/question.ts';
import { type Bus, BusError } from '../bus/bus.ts';

export interface AskerOptions {
  readonly bus: Bus;
  readonly subject: string;
  readonly question: Question;
  readonly random: (octets: number) => Uint8Array;
  readonly timers: Timers;
  /** Called before each question. */
  readonly onAsk: () => void;
  /** Uses an answer. @returns false: it was not used, and control is asked again */
  readonly take: (answer: Uint8Array, number: Uint8Array) => boolean;
}

export interface Asker {
  /** Asks, soon after the question before. */
  need(): void;
  stop(): Promise<void>;
}

const ANSWER_MS = 2_000;
/** Between two questions: a stranger who repeats old messages makes a node ask no more often. */
const BETWEEN_MS = 1_000;
const IDLE_MS = 3_600_000;

export function startAsker(options: AskerOptions): Asker {
  const { bus, subject, question, random, timers, onAsk, take } = options;
  const ending = new AbortController();
  const waker = createWaker(ending.signal, timers);
  let isNeeded = true;

  async function ask(): Promise<void> {
    const number = random(QUESTION_OCTETS);
    onAsk();
    const answer = await bus.request(subject, writeQuestion({ number, question }), ANSWER_MS);
    if (answer.length === 0 || !take(answer, number)) throw new BusError('failed');
  }

  function need(): void {
    isNeeded = true;
    waker.wake();
  }

  const ended = loop({
    signal: ending.signal,
    waker,
    backoff: { firstMs: 100, capMs: 2_000 },
    async pass() {
      if (!isNeeded || bus.state() !== 'connected') return IDLE_MS;
      isNeeded = false;
      try {
        await ask();
      } catch (error) {
        isNeeded = true;
        throw error;
      }
      await waker.sleep(BETWEEN_MS);
      return isNeeded ? 0 : IDLE_MS;
    },
    // Without control there is nothing to report here: the feed tells that the node is not current.
    onError: () => {},
  });
  const unlisten = bus.onState((state) => {
    if (state === 'connected') need();
  });

  return {
    need,
    async stop() {
      ending.abort();
      unlisten();
      await ended;
    },
  };
}
