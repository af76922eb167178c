/** Bounds what each node makes control do: messages and octets a second, of questions and answers together. */

import { LIMITS } from '../../base/limits.ts';
import type { Clock } from '../../base/time.ts';
import { type Bus, nodeOfSubject } from './bus.ts';

/** Seconds of its rate that a node may use at once: after an outage it sends and asks much. */
const BURST_SECONDS = 5;

interface NodeBudgetsOptions {
  readonly clock: Clock;
  /** A message of this node was dropped. Called for each: it must be cheap, and must not throw. */
  readonly onDropped: (node: string) => void;
}

/**
 * A bus whose listeners hear of each node no more than its budget. It bounds the subjects that end with a wildcard for the name of the node: the
 * broker lets a node use its own alone. A message beyond the budget is dropped before it is read, and has no answer: an honest node repeats it.
 */
export function withNodeBudgets(bus: Bus, { clock, onDropped }: NodeBudgetsOptions): Bus {
  const rateOf = (perSecond: number) =>
    createRequestRate({ perSecond, burst: perSecond * BURST_SECONDS }, clock);
  const messages = rateOf(LIMITS.feedNodeMessages);
  const octets = rateOf(LIMITS.feedNodeOctets);

  function admits(subject: string, data: Uint8Array): boolean {
    const node = nodeOfSubject(subject);
    if (messages.admits(node) && octets.admits(node, data.length)) return true;
    onDropped(node);
    return false;
  }

  const isOfNodes = (subject: string): boolean => subject.endsWith('.*');
  return {
    ...bus,
    subscribe(subject, handler) {
      if (!isOfNodes(subject)) return bus.subscribe(subject, handler);
      return bus.subscribe(subject, (data, sentTo) => {
        if (admits(sentTo, data)) handler(data, sentTo);
      });
    },
    respond(subject, handler) {
      if (!isOfNodes(subject)) return bus.respond(subject, handler);
      return bus.respond(subject, async (data, sentTo) => {
        if (!admits(sentTo, data)) return null;
        const answer = await handler(data, sentTo);
        // A large answer counts for the questions that follow it.
        if (answer !== null) octets.charge(nodeOfSubject(sentTo), answer.length);
        return answer;
      });
    },
  };
}

/** How much of each node is served: a bucket of tokens for each name. Names are of the feed's nodes, so their number is bounded. */

export interface RequestLimit {
  readonly perSecond: number;
  readonly burst: number;
}

interface RequestRate {
  /** Takes tokens, one unless told otherwise. @returns false when the node has none left; what it has may be less than what it takes */
  admits(node: string, tokens?: number): boolean;
  /** Takes tokens for what was done already. */
  charge(node: string, tokens: number): void;
}

export function createRequestRate({ perSecond, burst }: RequestLimit, clock: Clock): RequestRate {
  const buckets = new Map<string, { tokens: number; at: number }>();

  function bucketOf(node: string): { tokens: number } {
    const now = clock();
    const bucket = buckets.get(node) ?? { tokens: burst, at: now };
    buckets.set(node, bucket);
    // A clock that was set back adds none.
    const passed = Math.max(0, now - bucket.at) / 1000;
    bucket.tokens = Math.min(burst, bucket.tokens + passed * perSecond);
    bucket.at = now;
    return bucket;
  }

  return {
    admits(node, tokens = 1) {
      const bucket = bucketOf(node);
      // A message may be larger than a bucket: it leaves a debt.
      if (bucket.tokens < 1) return false;
      bucket.tokens -= tokens;
      return true;
    },
    charge(node, tokens) {
      bucketOf(node).tokens -= tokens;
    },
  };
}
