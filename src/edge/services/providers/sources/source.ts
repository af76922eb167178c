import type { OutboundClient } from '../../../../outbound/outbound-client.ts';

/** Providers, each with a budget and a breaker of its own. */
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

/** Calls in any period of this length, as the provider states the limit. `budget.ts` uses 90 % of it. */
export interface RateLimit {
  readonly calls: number;
  readonly perMs: number;
}

/** What a call came to. */
export type Fetched<T> =
  | {
      readonly kind: 'value';
      readonly value: T;
      /** The source's own time of the value, milliseconds since the epoch; left out where the source gives none. */
      readonly time?: number | undefined;
      /** The provider asked for no call before this time, milliseconds since the epoch. */
      readonly notBefore?: number | undefined;
      /** Sent with the next call; the provider then answers 304 when nothing changed (RFC 9110 §13.1.3). */
      readonly validator?: string | undefined;
    }
  /** The value of the previous call still holds. */
  | { readonly kind: 'unchanged'; readonly notBefore?: number | undefined }
  /** There is no such thing. */
  | { readonly kind: 'missing' }
  /** The provider asked for a pause of this length, milliseconds. */
  | { readonly kind: 'limited'; readonly waitMs: number }
  /** Unreachable, too slow, or an unexpected response. */
  | { readonly kind: 'failed' };

/** Called after each call to a provider. Calls that budget or breaker held back are not reported. */
export type OnCall = (source: SourceName, outcome: Fetched<unknown>['kind']) => void;

/** What every source is made with. */
export interface SourceContext {
  readonly outbound: OutboundClient;
  /** The `User-Agent` of every call. */
  readonly agent: string;
}

/** One provider of a feed. */
export interface Source<T> {
  readonly name: SourceName;
  readonly limits: readonly RateLimit[];
  /**
   * @param key in the spelling of the feed
   * @param validator of the value that is held, when it came from this source
   * @param now milliseconds since the epoch
   */
  load(key: string, validator: string | null, now: number): Promise<Fetched<T>>;
}
