/** A node's end of the exchange: sends a request, and checks that the answer is control's, and to this request. */
import type { KeyObject } from 'node:crypto';
import type { Clock } from '../../base/clock.ts';
import { type Bus, BusError, SUBJECTS } from '../bus/bus.ts';
import { createRequestRate, type Rate } from '../bus/node-budgets.ts';
import type { BatchSecrets } from '../message/batch.ts';
import type { FeedKey, FeedKeyRing, FeedSigner, FeedVerifier } from '../message/message.ts';
import { type FeedRefusal, FeedRefusedError } from '../ports/refusal.ts';
import {
  type Answer,
  openReply,
  openRequest,
  type RequestKind,
  readRequestBody,
  requestHash,
  type SignedRequest,
  writeReply,
  writeRequest,
} from './request.ts';

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

/** Control's end of the exchange: opens what nodes send, bounds how much of it, and signs the answers. */

export interface ControlEnd {
  readonly bus: Bus;
  /** Null for a name that is not in `nodes.json`. */
  readonly keyOf: KeyOfNode;
  readonly ring: () => FeedKeyRing;
  readonly secrets: () => BatchSecrets;
  readonly clock: Clock;
  /** A request that was not used. It has no answer, because nobody knows who sent it. */
  readonly onRefused?: (reason: FeedRefusal) => void;
  /** What made a request fail. */
  readonly onError?: (error: unknown) => void;
}

const BUSY: Answer = { status: 'busy', body: null };

/** A request that was checked. */
export interface OpenedRequest {
  readonly kind: RequestKind;
  /** The name that the signature proves. */
  readonly node: string;
  readonly at: number;
  readonly body: unknown;
}

interface Answering {
  /** Of one subject. */
  readonly kinds: readonly RequestKind[];
  /** Of each node. */
  readonly rate: Rate;
  /** Requests that are worked on at once, of all nodes: further ones are not answered, and the nodes repeat them. */
  readonly atOnce: number;
  /** Rejects with `FeedRefusedError` for a body of another shape: the request is `invalid`. */
  readonly answer: (request: OpenedRequest) => Promise<Answer>;
}

/** @throws FeedRefusedError and nothing else */
export function openFrom(
  end: Pick<ControlEnd, 'keyOf' | 'ring'>,
  kinds: readonly RequestKind[],
  message: Uint8Array,
): OpenedRequest {
  return opened(signedOf(end, kinds, message), end);
}

/** Not decrypted yet. @throws FeedRefusedError and nothing else */
export function signedOf(
  { keyOf }: Pick<ControlEnd, 'keyOf'>,
  kinds: readonly RequestKind[],
  message: Uint8Array,
): SignedRequest {
  const request = openRequest(message, keyOf);
  if (!kinds.includes(request.kind)) throw new FeedRefusedError('format');
  return request;
}

/** @throws FeedRefusedError and nothing else */
export function opened(request: SignedRequest, { ring }: Pick<ControlEnd, 'ring'>): OpenedRequest {
  const { kind, node, at } = request;
  return { kind, node, at, body: readRequestBody(request, ring()) };
}

/** Answers the requests of a subject. @returns ends it */
export function answerRequests(end: ControlEnd, { kinds, rate, atOnce, answer }: Answering): () => void {
  const { bus, secrets, onRefused, onError } = end;
  const requestRate = createRequestRate(rate, end.clock);
  let working = 0;

  async function answerOf(request: OpenedRequest): Promise<Answer> {
    try {
      return await answer(request);
    } catch (error) {
      if (error instanceof FeedRefusedError) {
        onRefused?.(error.reason);
        return { status: 'invalid', body: null };
      }
      onError?.(error);
      return { status: 'failed', body: null };
    }
  }

  return bus.respond(subjectOf(kinds[0] ?? 'status', '*'), async (message) => {
    if (working >= atOnce) return null;
    working++;
    try {
      const request = signedOf(end, kinds, message);
      // Before the body is decrypted and decompressed: that costs more than all the rest.
      const isAdmitted = requestRate.admits(request.node);
      const answer = isAdmitted ? await answerOf(opened(request, end)) : BUSY;
      return writeReply(answer, request.hash, secrets());
    } catch (error) {
      if (error instanceof FeedRefusedError) onRefused?.(error.reason);
      else onError?.(error);
      return null;
    } finally {
      working--;
    }
  });
}
