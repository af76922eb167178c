import type { KeyedEndpoint } from '../providers/sources/endpoints.ts';
import { at, numberOf, positive, secondsOf, within } from '../providers/sources/parse.ts';
import {
  type Fetched,
  type Source,
  type SourceContext,
  UNUSABLE,
  unusable,
} from '../providers/sources/source.ts';
import { keyedQuotes } from './keyed-quote.ts';
import type { Quote } from './quote.ts';

/** Statuses, and codes in a body, for an unknown symbol. */
const MISSING: readonly number[] = [400, 404];
/** The same for a symbol of a larger plan. */
const FORBIDDEN = 403;
const LIMITED = 429;
/** Credits are renewed every minute. */
const WAIT_MS = 60_000;
const CURRENCY = 'USD';

/** Twelve Data, `/quote`. Needs a key; limits of the free plan. */
export function twelveData(endpoint: KeyedEndpoint, context: SourceContext): Source<Quote> {
  return keyedQuotes(endpoint, context, {
    name: 'twelvedata',
    limits: [
      { calls: 8, perMs: 60_000 },
      { calls: 800, perMs: 86_400_000 },
    ],
    keyParameter: 'apikey',
    missing: MISSING,
    parse: parseTwelveData,
  });
}

/** A quote, or an error with status 200: `{"code":404,"message":"...","status":"error"}`. */
export function parseTwelveData(data: unknown): Fetched<Quote> {
  if (at(data, 'status') === 'error') {
    const code = at(data, 'code');
    if (typeof code === 'number' && MISSING.includes(code)) return { kind: 'missing' };
    if (code === FORBIDDEN) return UNUSABLE;
    return code === LIMITED ? { kind: 'limited', waitMs: WAIT_MS } : { kind: 'failed' };
  }
  // The same symbol on a foreign exchange is another company.
  const currency = at(data, 'currency');
  if (currency !== undefined && currency !== CURRENCY) return { kind: 'missing' };
  const price = positive(at(data, 'close'));
  const change = numberOf(at(data, 'change'));
  const percent = numberOf(at(data, 'percent_change'));
  const open = positive(at(data, 'open'));
  const high = positive(at(data, 'high'));
  const low = positive(at(data, 'low'));
  if (price === null || change === null || percent === null) return unusable(data);
  if (open === null || high === null || low === null) return unusable(data);
  const value: Quote = {
    price,
    change,
    percent,
    volume: within(at(data, 'volume'), 0, Number.MAX_VALUE),
    open,
    high,
    low,
    yearHigh: positive(at(data, 'fifty_two_week', 'high')),
    yearLow: positive(at(data, 'fifty_two_week', 'low')),
  };
  return { kind: 'value', value, time: quoteTime(data) };
}

/** `last_quote_at` is the time of the last quote. `timestamp` is the start of the trading day; some plans send only that. */
function quoteTime(data: unknown): number | undefined {
  const times = [secondsOf(at(data, 'timestamp')), secondsOf(at(data, 'last_quote_at'))];
  const given = times.filter((time) => time !== undefined);
  return given.length === 0 ? undefined : Math.max(...given);
}
