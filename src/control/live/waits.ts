import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { AppError } from '../../base/errors.ts';
import { createPlaces } from '../../base/lifecycle/places.ts';
import type { Timers } from '../../base/lifecycle/timers.ts';
import { LIMITS } from '../../base/limits.ts';
import { actorOf, requireRenewal } from '../../http/guard.ts';
import { onResponseEnd } from '../../http/streams.ts';
import { badParameter } from '../../protocol/input/query-parameters.ts';
import type { HasClock } from '../deps.ts';

/** Description of a parameter `wait`. @param max seconds */
export function waitParameter(max: number, description: string) {
  return { schema: { type: 'integer', minimum: 0, maximum: max, default: 0 }, description } as const;
}

/** @param text of the parameter `wait`, seconds. @returns milliseconds. @throws AppError 400 */
export function readWait(text: string | undefined, max: number): number {
  const seconds = text === undefined || /^[0-9]{1,2}$/.test(text) ? Number(text ?? 0) : Number.NaN;
  if (seconds <= max) return seconds * 1000;
  throw badParameter('wait', `is not a number from 0 to ${max}`);
}

/** Requests that wait for something to happen. */
export interface Waits {
  /**
   * Runs `work`, whose signal aborts when the time is over, the client has gone, the server ends, or another person has to wait too. It must
   * resolve then. Afterwards the credential is checked again: it may have ended meanwhile.
   * @param ms 0: runs nothing
   * @throws AppError 429 when too many wait; 401
   */
  during(
    request: FastifyRequest,
    reply: FastifyReply,
    ms: number,
    work: (signal: AbortSignal) => Promise<void>,
  ): Promise<void>;
}

export interface HasWaits {
  readonly waits: Waits;
}

export function openWaits(
  app: FastifyInstance,
  { clock, timers }: HasClock & { readonly timers: Timers },
): Waits {
  const { changeWaits: all, changeWaitsPerCustomer: each } = LIMITS;
  const places = createPlaces({ all, each });
  const ending = new AbortController();
  app.addHook('preClose', async () => ending.abort());
  return {
    async during(request, reply, ms, work) {
      if (ms === 0 || request.method === 'HEAD') return;
      const given = new AbortController();
      const began = clock();
      const place = places.enter(actorOf(request).personId, {
        since: () => began,
        giveWay: () => given.abort(),
      });
      if (place === null) throw tooManyReaders();
      const unlisten = onResponseEnd(reply.raw, () => given.abort());
      const cancel = timers.after(ms, () => given.abort());
      try {
        await work(AbortSignal.any([ending.signal, given.signal]));
      } finally {
        cancel();
        unlisten();
        place.leave();
      }
      await requireRenewal(request);
    },
  };
}

export function tooManyReaders(): AppError {
  return new AppError('rate_limit_exceeded', 'Too many requests wait for changes', { retryAfter: 10 });
}
