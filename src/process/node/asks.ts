/** Questions that came over the REST port, on their way to a worker thread and back: plain data that can be copied between threads. */
import type { AskingRequest, HttpReply } from '../../dns/doh/request.ts';

export type Asked =
  | Exclude<AskingRequest, { readonly kind: 'json' }>
  | { readonly kind: 'json'; readonly params: string };

export interface Ask {
  readonly asked: Asked;
  /** Of the client, for what the listeners use it for. */
  readonly address: string;
}

/** `refused`: the worker is stopping. `exited`: it ended. `silent`: no reply within the time. */
export type AskResult = HttpReply | 'refused' | 'exited' | 'silent';

export function askedOf(request: AskingRequest): Asked {
  if (request.kind === 'json') return { kind: 'json', params: request.params.toString() };
  // Only the message's own octets: a copy of a view copies all memory behind it.
  return request.kind === 'wire' ? { kind: 'wire', message: Uint8Array.from(request.message) } : request;
}

export function requestOf(asked: Asked): AskingRequest {
  return asked.kind === 'json' ? { kind: 'json', params: new URLSearchParams(asked.params) } : asked;
}

export interface WaitingAsks {
  ask(ask: Ask): Promise<AskResult>;
  /** Those that wait. */
  count(): number;
  replied(id: number, reply: HttpReply | null): void;
  /** The thread has ended: no reply will come. */
  end(): void;
}

/** The main thread's side, for one worker. @param ms for which a reply is waited for */
export function createWaitingAsks(post: (id: number, ask: Ask) => void, ms: number): WaitingAsks {
  const waiting = new Map<number, (result: AskResult) => void>();
  let lastId = 0;
  let isEnded = false;
  return {
    ask(ask) {
      // A message to a thread that has ended is lost without an error.
      if (isEnded) return Promise.resolve('exited');
      const id = ++lastId;
      const { promise, resolve } = Promise.withResolvers<AskResult>();
      const timer = setTimeout(() => settle('silent'), ms);
      const settle = (result: AskResult): void => {
        clearTimeout(timer);
        waiting.delete(id);
        resolve(result);
      };
      waiting.set(id, settle);
      post(id, ask);
      return promise;
    },
    count: () => waiting.size,
    replied: (id, reply) => waiting.get(id)?.(reply ?? 'refused'),
    end() {
      isEnded = true;
      for (const settle of [...waiting.values()]) settle('exited');
    },
  };
}

export interface AskAnswers {
  /** Answers one question, unless the worker is stopping: null. */
  answer(ask: Ask): Promise<HttpReply | null>;
  /** Refuses further questions. Resolves when none is in work, at the latest after `graceMs`. */
  stop(graceMs: number): Promise<void>;
}

/** The worker's side. @param answer may throw: the reply is then `failed` */
export function createAskAnswers(
  answer: (request: AskingRequest, address: () => string) => HttpReply | Promise<HttpReply>,
  failed: (fault: unknown) => HttpReply,
): AskAnswers {
  const inWork = new Set<Promise<HttpReply>>();
  let isStopping = false;

  async function reply({ asked, address }: Ask): Promise<HttpReply> {
    try {
      return await answer(requestOf(asked), () => address);
    } catch (fault) {
      return failed(fault);
    }
  }

  return {
    async answer(ask) {
      if (isStopping) return null;
      const work = reply(ask);
      inWork.add(work);
      try {
        return await work;
      } finally {
        inWork.delete(work);
      }
    },
    async stop(graceMs) {
      isStopping = true;
      const grace = Promise.withResolvers<void>();
      const timer = setTimeout(grace.resolve, graceMs);
      await Promise.race([Promise.all(inWork), grace.promise]);
      clearTimeout(timer);
    },
  };
}
