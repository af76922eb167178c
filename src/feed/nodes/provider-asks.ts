/** Questions of nodes for data of providers. Only control calls providers, so that their quotas are spent once. */

import { BusError } from '../bus/bus.ts';
import { answerQuestions, type ControlEnd, type Rpc } from '../message/rpc.ts';
import { FeedRefusedError } from '../ports/refusal.ts';

/** `services/providers/remote` makes it and uses it. */
type ProviderReading =
  | {
      readonly kind: 'value';
      readonly value: unknown;
      readonly time: number;
      readonly ageMs: number;
      readonly leftMs: number;
    }
  | { readonly kind: 'missing'; readonly leftMs: number }
  | { readonly kind: 'limited'; readonly retryAfter: number }
  | { readonly kind: 'late' }
  | { readonly kind: 'down' }
  | { readonly kind: 'off' };

/** Whose question it is: the node and, in it, the share of who asked there. */
interface Asker {
  readonly node: string;
  readonly share: number;
}

/** Control answers within two seconds, with `late` if need be. */
const ANSWER_MS = 3_000;
/** Each name of a service asks at most once at a time; an edge asks 90 times a second. */
const RATE = { perSecond: 100, burst: 400 } as const;
/** Most answers come from memory; the others wait for a provider. One node leaves half to the others. */
const AT_ONCE = { all: 512, each: 256 } as const;
const TEXT_MAX = 64;

/** @returns asks control; never rejects: `down` when control cannot be reached, or its answer cannot be used */
export function providerAsks(
  rpc: Pick<Rpc, 'ask'>,
): (feed: string, key: string, share: number) => Promise<ProviderReading> {
  return async (feed, key, share) => {
    try {
      const { status, body } = await rpc.ask('provider', [feed, key, share], ANSWER_MS);
      if (status === 'busy') return { kind: 'limited', retryAfter: 1 };
      return status === 'done' ? readingOf(body) : { kind: 'down' };
    } catch (error) {
      if (error instanceof BusError || error instanceof FeedRefusedError) return { kind: 'down' };
      throw error;
    }
  };
}

/**
 * @param read null for a feed, a key or a share that no node asks for
 * @returns ends the answers
 */
export function answerProviderAsks(
  end: ControlEnd,
  read: (feed: string, key: string, asker: Asker) => Promise<ProviderReading | null>,
): () => void {
  return answerQuestions(end, {
    kinds: ['provider'],
    rate: RATE,
    atOnce: AT_ONCE,
    async answer({ node, body }) {
      // Nodes of earlier releases say no share: all who ask there have one.
      const [feed, key, share = 0] = Array.isArray(body) ? (body as unknown[]) : [];
      const isAsked = isText(feed) && isText(key) && isNumber(share);
      const reading = isAsked ? await read(feed, key, { node, share }) : null;
      if (reading === null) throw new FeedRefusedError('format');
      return { json: reading };
    },
  });
}

function isText(value: unknown): value is string {
  return typeof value === 'string' && value.length <= TEXT_MAX;
}

/** @throws FeedRefusedError `format` */
function readingOf(body: unknown): ProviderReading {
  const { kind, value, time, ageMs, leftMs, retryAfter } = (body ?? {}) as Readonly<Record<string, unknown>>;
  switch (kind) {
    case 'value':
      if (value === undefined || value === null) break;
      if (isNumber(time) && isNumber(ageMs) && isNumber(leftMs)) return { kind, value, time, ageMs, leftMs };
      break;
    case 'missing':
      if (isNumber(leftMs)) return { kind, leftMs };
      break;
    case 'limited':
      if (Number.isSafeInteger(retryAfter) && (retryAfter as number) >= 1)
        return { kind, retryAfter: retryAfter as number };
      break;
    case 'late':
    case 'down':
    case 'off':
      return { kind };
  }
  throw new FeedRefusedError('format');
}

function isNumber(value: unknown): value is number {
  return typeof value === 'number' && Number.isFinite(value);
}
