import { coinbase } from '../../crypto/coinbase.ts';
import { kraken } from '../../crypto/kraken.ts';
import type { Market } from '../../crypto/market.ts';
import { ecb } from '../../forex/ecb.ts';
import { frankfurter } from '../../forex/frankfurter.ts';
import type { Rate } from '../../forex/pair.ts';
import { finnhub } from '../../stock/finnhub.ts';
import type { Quote } from '../../stock/quote.ts';
import { twelveData } from '../../stock/twelvedata.ts';
import type { Meteo } from '../../weather/meteo.ts';
import { metno } from '../../weather/metno.ts';
import { openMeteo } from '../../weather/openmeteo.ts';
import type { Endpoints } from './endpoints.ts';
import type { Source, SourceContext } from './source.ts';

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
