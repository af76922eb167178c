/** Control's end of the exchange: opens what nodes send, bounds how much of it, and signs the answers. */
import type { Clock } from '../../base/clock.ts';
import type { BatchSecrets } from '../batch/batch.ts';
import type { FeedKeyRing } from '../batch/feed-key.ts';
import { type FeedRefusal, FeedRefusedError } from '../batch/refusal.ts';
import type { Bus } from '../bus/bus.ts';
import { createRequestRate, type Rate } from '../bus/request-rate.ts';
import { type Answer, writeReply } from './answer.ts';
import { type KeyOfNode, subjectOf } from './node-end.ts';
import { openRequest, type RequestKind, readRequestBody, type SignedRequest } from './request.ts';

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

export interface Answering {
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
