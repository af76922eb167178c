/** Bounds what each node makes control do: messages and octets a second, of questions and answers together. */
import type { Clock } from '../../base/clock.ts';
import { LIMITS } from '../../base/limits.ts';
import type { Bus } from './bus.ts';
import { createRequestRate } from './request-rate.ts';
import { nodeOfSubject } from './subjects.ts';

/** Seconds of its rate that a node may use at once: after an outage it sends and asks much. */
const BURST_SECONDS = 5;

export interface NodeBudgetsOptions {
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
