import type { OutboundClient } from '../../../outbound/outbound-client.ts';

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

/** So many calls in any period of that length: what a provider states, not what we use of it. */
export interface RateLimit {
  readonly calls: number;
  readonly perMs: number;
}

/** What a call came to. */
export type Fetched<T> =
  | {
      readonly kind: 'value';
      readonly value: T;
      /** The source's own time of the value, milliseconds since the epoch; left out where the source tells none. */
      readonly time?: number | undefined;
      /** The provider does not want to be asked again before: milliseconds since the epoch. */
      readonly notBefore?: number | undefined;
      /** What to send with the next call, so that an unchanged answer can be left out (RFC 9110 §13.1.3). */
      readonly validator?: string | undefined;
    }
  /** The value of the previous call still holds. */
  | { readonly kind: 'unchanged'; readonly notBefore?: number | undefined }
  /** There is no such thing. */
  | { readonly kind: 'missing' }
  /** We have been told to wait so long, milliseconds. */
  | { readonly kind: 'limited'; readonly waitMs: number }
  /** Unreachable, too slow, or not what was agreed. */
  | { readonly kind: 'failed' };

/** Told of each call that was made to a provider, once it has ended. Calls that were held back do not count. */
export type OnCall = (source: SourceName, outcome: Fetched<unknown>['kind']) => void;

/** What every source is made with. */
export interface SourceContext {
  readonly door: OutboundClient;
  /** The `User-Agent` of every call. */
  readonly agent: string;
}

/** One provider of a feed. */
export interface Source<T> {
  readonly name: SourceName;
  readonly limits: readonly RateLimit[];
  /**
   * @param key in the feed's own spelling
   * @param validator of the value that is held, when it came from this source
   * @param now milliseconds since the epoch
   */
  load(key: string, validator: string | null, now: number): Promise<Fetched<T>>;
}
