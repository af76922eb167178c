import type { KeyedEndpoint } from '../providers/sources/endpoints.ts';
import { at, numberOf, positive, secondsOf } from '../providers/sources/parse.ts';
import { type Fetched, type Source, type SourceContext, unusable } from '../providers/sources/source.ts';
import { keyedQuotes } from './keyed-quote.ts';
import type { Quote } from './quote.ts';

/** Statuses for a symbol that the free plan does not have, such as those of exchanges outside the United States. */
const MISSING: readonly number[] = [403];

/** Finnhub, `/quote`. Needs a key; free for personal use. It reports no volume. */
export function finnhub(endpoint: KeyedEndpoint, context: SourceContext): Source<Quote> {
  return keyedQuotes(endpoint, context, {
    name: 'finnhub',
    limits: [{ calls: 60, perMs: 60_000 }],
    keyParameter: 'token',
    missing: MISSING,
    parse: parseFinnhub,
  });
}

/** `{"c":182.63,"d":1.85,"dp":1.02,"h":..,"l":..,"o":..,"pc":..,"t":1700000000}`; zeros for an unknown symbol. */
export function parseFinnhub(data: unknown): Fetched<Quote> {
  if (at(data, 'c') === 0 && at(data, 't') === 0) return { kind: 'missing' };
  const price = positive(at(data, 'c'));
  const change = numberOf(at(data, 'd'));
  const percent = numberOf(at(data, 'dp'));
  const open = positive(at(data, 'o'));
  const high = positive(at(data, 'h'));
  const low = positive(at(data, 'l'));
  if (price === null || change === null || percent === null) return unusable(data);
  if (open === null || high === null || low === null) return unusable(data);
  const value: Quote = {
    price,
    change,
    percent,
    volume: null,
    open,
    high,
    low,
    yearHigh: null,
    yearLow: null,
  };
  return { kind: 'value', value, time: secondsOf(at(data, 't')) };
}
