/** A node's end of the exchange: sends a request, and checks that the answer is control's, and to this request. */
import type { KeyObject } from 'node:crypto';
import type { Clock } from '../../base/clock.ts';
import type { FeedKey, FeedKeyRing } from '../batch/feed-key.ts';
import { type FeedRefusal, FeedRefusedError } from '../batch/refusal.ts';
import type { FeedSigner, FeedVerifier } from '../batch/signature.ts';
import { type Bus, BusError } from '../bus/bus.ts';
import { SUBJECTS } from '../bus/subjects.ts';
import { type Answer, openReply } from './answer.ts';
import { type RequestKind, requestHash, writeRequest } from './request.ts';

export interface ExchangeOptions {
  readonly bus: Bus;
  /** In the credentials. */
  readonly name: string;
  /** Of the nkey in the credentials. */
  readonly signer: FeedSigner;
  /** Of those who sign for control. */
  readonly verifier: FeedVerifier;
  /** The hourly key to encrypt with now; null: there is none yet. */
  readonly presentKey: () => FeedKey | null;
  readonly ring: () => FeedKeyRing;
  readonly random: (octets: number) => Uint8Array;
  readonly clock: Clock;
  /** An answer that was not used; the call rejects too. */
  readonly onRefused?: (reason: FeedRefusal) => void;
}

/** Public keys of those who may sign requests. */
export type KeyOfNode = (node: string) => KeyObject | null;

export interface Exchange {
  /** @throws BusError; FeedRefusedError for an answer that must not be used */
  ask(kind: RequestKind, body: unknown, timeoutMs: number): Promise<Answer>;
  /** Sends without an answer. Without a connection or a key it does nothing. */
  tell(kind: RequestKind, body: unknown): void;
}

/** Control was reached, and did not do what was asked. A repeat may succeed. */
export class ExchangeError extends Error {
  override readonly name = 'ExchangeError';
  readonly status: 'busy' | 'failed';

  constructor(status: 'busy' | 'failed') {
    super(
      status === 'busy' ? 'control answers only so many requests a second' : 'control could not do it now',
    );
    this.status = status;
  }
}

export function createExchange(options: ExchangeOptions): Exchange {
  const { bus, name, signer, verifier, presentKey, ring, random, clock, onRefused } = options;

  function write(kind: RequestKind, body: unknown, key: FeedKey): Uint8Array {
    return writeRequest({ kind, node: name, at: clock() }, body, { signer, key, random });
  }

  return {
    async ask(kind, body, timeoutMs) {
      const key = presentKey();
      // Keys come with the connection: until then nothing can be sent.
      if (key === null) throw new BusError('disconnected');
      const message = write(kind, body, key);
      const answer = await bus.request(subjectOf(kind, name), message, timeoutMs);
      try {
        return openReply(answer, verifier, { request: requestHash(message), ring: ring() });
      } catch (error) {
        if (error instanceof FeedRefusedError) onRefused?.(error.reason);
        throw error;
      }
    },
    tell(kind, body) {
      const key = presentKey();
      if (key !== null) bus.publish(subjectOf(kind, name), write(kind, body, key));
    },
  };
}

/** Where a node sends a kind of request. @param node `*`: where control hears all nodes */
export function subjectOf(kind: RequestKind, node: string): string {
  switch (kind) {
    case 'usage':
    case 'rows':
      return `${SUBJECTS.meter}.${node}`;
    case 'state':
      return `${SUBJECTS.state}.${node}`;
    case 'provider':
      return `${SUBJECTS.ask}.${node}`;
    case 'status':
      return SUBJECTS.status;
    case 'publisher':
      return `${SUBJECTS.status}.publisher`;
    case 'command':
      return SUBJECTS.command;
  }
}
