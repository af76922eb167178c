/** Sends to every node of the feed what is for it alone, and to a node that asks. */
import { createPublicKey, type KeyObject } from 'node:crypto';
import type { Clock } from '../../base/clock.ts';
import { createPlaces } from '../../base/lifecycle/places.ts';
import type { Timers } from '../../base/lifecycle/timers.ts';
import { type Bus, keysSubject, nodeOfSubject, subjectOfNode } from '../bus/bus.ts';
import { NO_ANSWER, readQuestion } from '../message/question.ts';
import type { FeedNode, NodeList } from '../nodes/nodes.ts';

interface DeliveriesOptions {
  readonly bus: Bus;
  readonly nodes: NodeList;
  readonly clock: Clock;
  readonly timers: Timers;
  /** What nodes ask for, and where: each at a subject of its own. */
  readonly ask: 'keys' | 'secrets';
  readonly subject: string;
  /**
   * Asked for each message, so that none has older content than one that was sent before. @returns null: there is nothing to send yet
   * @param question that is answered; undefined: nobody asked
   */
  readonly write: (
    node: FeedNode,
    publicKey: KeyObject,
    at: number,
    question: Uint8Array | undefined,
  ) => Uint8Array | null;
  /** Called before a question is answered: another process may have replaced what is sent. */
  readonly refresh: () => Promise<void>;
}

interface Deliveries {
  /** Sends to every node. Resolves when all messages were handed to the bus. */
  all(): Promise<void>;
  /** Sends to one part of `parts`, so that a message to all nodes in turn costs little at a time. */
  part(index: number, parts: number): void;
  stop(): void;
}

/** A message takes about 0.3 ms to make. The process has other work between so many. */
const AT_ONCE = 10;
/** Messages of one moment get times in order. */
const SAME_TIME_MS = 1_000;
/** More questions at once are told that control cannot answer now. */
const QUESTIONS = { all: 64, each: 2 } as const;

export function createDeliveries(options: DeliveriesOptions): Deliveries {
  const { bus, nodes, clock, timers, refresh } = options;
  const publicKeys = new Map<string, KeyObject>();
  let last = 0;
  const places = createPlaces(QUESTIONS);

  function publicKeyOf(pem: string): KeyObject {
    const key = publicKeys.get(pem) ?? createPublicKey(pem);
    publicKeys.set(pem, key);
    return key;
  }

  function write(node: FeedNode, question?: Uint8Array): Uint8Array | null {
    const now = clock();
    // Nodes refuse what is not later than what they have. After the clock was set back they ask, and believe the answer.
    last = now <= last && now > last - SAME_TIME_MS ? last + 1 : now;
    return options.write(node, publicKeyOf(node.encrypt), last, question);
  }

  function send(node: FeedNode): void {
    const message = write(node);
    if (message !== null) bus.publish(keysSubject(node.name), message);
  }

  async function answer(name: string, number: Uint8Array): Promise<Uint8Array> {
    // When the database is away, what is in memory is still right.
    await refresh().catch(() => {});
    const node = nodes.current().find((each) => each.name === name);
    return node === undefined ? NO_ANSWER : (write(node, number) ?? NO_ANSWER);
  }

  const stop = bus.respond(subjectOfNode(options.subject, '*'), async (data, sentTo) => {
    const asked = readQuestion(data);
    if (asked === null) return null;
    const { number, question } = asked;
    const asks = nodeOfSubject(sentTo);
    if (question.ask !== options.ask || question.node !== asks) return null;
    return places.run(asks, () => answer(asks, number)) ?? NO_ANSWER;
  });

  return {
    async all() {
      publicKeys.clear();
      for (const [i, node] of nodes.current().entries()) {
        if (i > 0 && i % AT_ONCE === 0) await new Promise<void>((resolve) => timers.after(0, resolve));
        // A node may be removed meanwhile.
        if (nodes.current().includes(node)) send(node);
      }
    },
    part(index, parts) {
      for (const [i, node] of nodes.current().entries()) if (i % parts === index) send(node);
    },
    stop,
  };
}
