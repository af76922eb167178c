import type { OutboundClient } from '../../../outbound/outbound-client.ts';

/** Each provider has a separate budget and breaker. */
export const SOURCES = [
  'openmeteo',
  'metno',
  'frankfurter',
  'ecb',
  'coinbase',
  'kraken',
  'twelvedata',
  'finnhub',
] as const;
export type SourceName = (typeof SOURCES)[number];

/** The provider's limit on calls in any period of this length. `budget.ts` uses 90 % of it. */
export interface RateLimit {
  readonly calls: number;
  readonly perMs: number;
}

export type Fetched<T> =
  | {
      readonly kind: 'value';
      readonly value: T;
      /** The source's time of the value, milliseconds since the epoch, if it sends one. */
      readonly time?: number | undefined;
      /** No call before this time, milliseconds since the epoch. */
      readonly notBefore?: number | undefined;
      /** Sent with the next call, so that the provider can answer 304 (RFC 9110 §13.1.3). */
      readonly validator?: string | undefined;
    }
  /** The value of the previous call is still valid. */
  | { readonly kind: 'unchanged'; readonly notBefore?: number | undefined }
  | { readonly kind: 'missing' }
  /** The provider asked for a pause, milliseconds. */
  | { readonly kind: 'limited'; readonly waitMs: number }
  /** Unreachable, too slow, or an unexpected response. `hasAnswered`: only this key has no value, others may have one. */
  | { readonly kind: 'failed'; readonly hasAnswered?: boolean };

/**
 * The source is there, but said nothing usable about this key. Anybody may ask for such keys, so they say nothing of the source: its
 * breaker stays closed for the others.
 */
export const UNUSABLE = { kind: 'failed', hasAnswered: true } as const satisfies Fetched<never>;

/** For data without a value. @param data undefined: it was not even JSON, as where a page of a proxy answers in place of the source */
export function unusable(data: unknown): Fetched<never> {
  return data === undefined ? { kind: 'failed' } : UNUSABLE;
}

/** Called after each call to a provider. Calls that budget or breaker blocked are not reported. */
export type OnCall = (source: SourceName, outcome: Fetched<unknown>['kind']) => void;

export interface SourceContext {
  readonly outbound: OutboundClient;
  readonly agent: string;
}

export interface Source<T> {
  readonly name: SourceName;
  readonly limits: readonly RateLimit[];
  /** `key` in the spelling of the feed; `validator` of the cached value, if from this source; `now` in ms since the epoch. */
  load(key: string, validator: string | null, now: number): Promise<Fetched<T>>;
}
