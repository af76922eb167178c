/** What a node does with one kind of delivery: takes what control sends, and asks for it until control answers. */

import { loop } from '../../base/lifecycle/loop.ts';
import type { Timers } from '../../base/lifecycle/timers.ts';
import { createWaker } from '../../base/lifecycle/waker.ts';
import { type Bus, BusError, keysSubject } from '../bus/bus.ts';
import { QUESTION_OCTETS } from '../message/head.ts';
import type { FeedVerifier } from '../message/message.ts';
import { type Question, writeQuestion } from '../message/question.ts';
import type { Freshness, Recipient } from '../message/sealed.ts';
import { type FeedRefusal, FeedRefusedError } from '../ports/refusal.ts';

/** Of a node's end, for keys and secrets alike. */
export interface NodeEndOptions {
  /** Not closed here. */
  readonly bus: Bus;
  readonly verifier: FeedVerifier;
  readonly own: Recipient;
  readonly random: (octets: number) => Uint8Array;
  /** Milliseconds since any moment. It is never set: a node whose clock is wrong keeps its keys as long as others do. */
  readonly elapsed?: () => number;
  readonly timers?: Timers;
  /** A delivery that was not used. */
  readonly onRefused?: (reason: FeedRefusal) => void;
}

interface DeliveriesOptions<Delivery>
  extends Pick<NodeEndOptions, 'bus' | 'own' | 'random' | 'onRefused'>,
    Pick<AskerOptions, 'subject' | 'question'> {
  readonly timers: Timers;
  /** Both kinds come on one subject. */
  readonly isWanted: (message: Uint8Array) => boolean;
  /** @throws FeedRefusedError */
  readonly open: (message: Uint8Array, fresh: Freshness) => Delivery;
  /** `at` of the delivery in use, 0 before the first. */
  readonly lastAt: () => number;
  readonly use: (delivery: Delivery) => void;
}

interface Deliveries {
  /** Asks control. */
  need(): void;
  stop(): Promise<void>;
}

export function receiveDeliveries<Delivery extends { readonly at: number }>(
  options: DeliveriesOptions<Delivery>,
): Deliveries {
  const { bus, own, subject, question, random, timers, isWanted, lastAt, use, onRefused } = options;
  /** `lastAt()` when control was asked. */
  let askedAt = 0;

  function open(message: Uint8Array, fresh: Freshness): Delivery | null {
    try {
      return options.open(message, fresh);
    } catch (error) {
      if (!(error instanceof FeedRefusedError)) throw error;
      onRefused?.(error.reason);
      // Perhaps it is a control process whose clock is behind the one before: its answer is believed.
      if (error.reason === 'replayed') asker.need();
      return null;
    }
  }

  const asker = startAsker({
    bus,
    subject,
    question,
    random,
    timers,
    onAsk: () => {
      askedAt = lastAt();
    },
    take(answer, number) {
      const delivery = open(answer, { question: number });
      // A delivery that overtook the answer is newer.
      if (delivery !== null && (lastAt() === askedAt || delivery.at > lastAt())) use(delivery);
      return delivery !== null;
    },
  });

  const unsubscribe = bus.subscribe(keysSubject(own.node), (message) => {
    if (!isWanted(message)) return;
    const delivery = open(message, { last: lastAt() });
    if (delivery !== null) use(delivery);
  });

  return {
    need: () => asker.need(),
    async stop() {
      unsubscribe();
      await asker.stop();
    },
  };
}

/** Asks control for keys until they have come: at each connect, and when something is missing. */

interface AskerOptions {
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

interface Asker {
  /** Asks, soon after the question before. */
  need(): void;
  stop(): Promise<void>;
}

const ANSWER_MS = 2_000;
/** Between two questions: a stranger who repeats old messages makes a node ask no more often. */
const BETWEEN_MS = 1_000;
const IDLE_MS = 3_600_000;

function startAsker(options: AskerOptions): Asker {
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
