import { coinbase, kraken, type Market } from '../crypto-prices.ts';
import { ecb, frankfurter, type Rate } from '../forex-rates.ts';
import { finnhub, type Quote, twelveData } from '../stock-quotes.ts';
import { type Meteo, metno, openMeteo } from '../weather-sources.ts';
import type { Endpoints, Source, SourceContext } from './source.ts';

/** Values by feed. `weather` and `forecast` share one. */
export interface FeedValues {
  readonly meteo: Meteo;
  readonly forex: Rate;
  readonly crypto: Market;
  readonly stock: Quote;
}

export type FeedName = keyof FeedValues;

export interface Feed<T> {
  /** Lifetime of a value, milliseconds: the TTL of the answer (docs/SERVICES.md). */
  readonly ttlMs: number;
  /** Largest age of a stale value while all sources are down, milliseconds. */
  readonly staleMs: number;
  /** Whether the second source is asked when the first reports `missing`. */
  readonly asksNextWhenMissing: boolean;
  /** In the order of use; empty: the feed is off. */
  readonly sources: readonly Source<T>[];
}

export type Feeds = { readonly [F in FeedName]: Feed<FeedValues[F]> };

const SECOND = 1000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

type Lifetimes = Omit<Feed<unknown>, 'sources'>;

export const LIFETIMES: { readonly [F in FeedName]: Lifetimes } = {
  meteo: { ttlMs: 10 * MINUTE, staleMs: 6 * HOUR, asksNextWhenMissing: false },
  // Rates are published on working days only: this covers a long weekend.
  forex: { ttlMs: 15 * MINUTE, staleMs: 4 * DAY, asksNextWhenMissing: false },
  crypto: { ttlMs: 30 * SECOND, staleMs: 15 * MINUTE, asksNextWhenMissing: true },
  stock: { ttlMs: 30 * SECOND, staleMs: HOUR, asksNextWhenMissing: false },
};

export function makeFeeds(endpoints: Endpoints, context: SourceContext): Feeds {
  const { openmeteo: meteoBase, metno: metBase, frankfurter: ratesBase, ecb: ecbBase } = endpoints;
  const { coinbase: coinbaseBase, kraken: krakenBase, twelvedata, finnhub: finnhubEnd } = endpoints;
  return {
    meteo: {
      ...LIFETIMES.meteo,
      sources: known(meteoBase && openMeteo(meteoBase, context), metBase && metno(metBase, context)),
    },
    forex: {
      ...LIFETIMES.forex,
      sources: known(ratesBase && frankfurter(ratesBase, context), ecbBase && ecb(ecbBase, context)),
    },
    crypto: {
      ...LIFETIMES.crypto,
      sources: known(
        coinbaseBase && coinbase(coinbaseBase, context),
        krakenBase && kraken(krakenBase, context),
      ),
    },
    stock: {
      ...LIFETIMES.stock,
      sources: known(
        twelvedata && twelveData(twelvedata, context),
        finnhubEnd && finnhub(finnhubEnd, context),
      ),
    },
  };
}

function known<T>(...sources: readonly (Source<T> | null | '')[]): readonly Source<T>[] {
  return sources.filter((source) => source !== null && source !== '');
}
