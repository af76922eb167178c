/** What a node does with one kind of delivery: takes what control sends, and asks for it until control answers. */
import type { Timers } from '../../base/lifecycle/timers.ts';
import { type FeedRefusal, FeedRefusedError } from '../batch/refusal.ts';
import type { Freshness, Recipient } from '../batch/sealed.ts';
import type { FeedVerifier } from '../batch/signature.ts';
import type { Bus } from '../bus/bus.ts';
import { keysSubject } from '../bus/subjects.ts';
import { type AskerOptions, startAsker } from './asker.ts';

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

export interface DeliveriesOptions<Delivery>
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

export interface Deliveries {
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
