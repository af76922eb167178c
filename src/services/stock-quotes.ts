import type { KeyedEndpoint } from './providers/source.ts';
import {
  at,
  call,
  type Fetched,
  join,
  jsonOf,
  numberOf,
  positive,
  type Source,
  type SourceContext,
  secondsOf,
  UNUSABLE,
  unusable,
  within,
} from './providers/source.ts';

/** In US dollars. */
export interface Quote {
  readonly price: number;
  /** Since the previous close; `percent` is the same in percent. */
  readonly change: number;
  readonly percent: number;
  /** Shares traded today; null where the source does not report it. */
  readonly volume: number | null;
  readonly open: number;
  readonly high: number;
  readonly low: number;
  /** Of 52 weeks. */
  readonly yearHigh: number | null;
  readonly yearLow: number | null;
}

interface QuoteApi extends Pick<Source<Quote>, 'name' | 'limits'> {
  readonly keyParameter: string;
  /** Statuses for an unknown symbol. */
  readonly missing?: readonly number[];
  readonly parse: (data: unknown) => Fetched<Quote>;
}

/** A source that answers `GET /quote?symbol=...` with JSON and takes its key as a query parameter. */
function keyedQuotes(
  { base, key: apiKey }: KeyedEndpoint,
  { outbound, agent }: SourceContext,
  { name, limits, keyParameter, missing = [], parse }: QuoteApi,
): Source<Quote> {
  return {
    name,
    limits,
    async load(key, _validator, now) {
      const query = `symbol=${encodeURIComponent(key)}&${keyParameter}=${encodeURIComponent(apiKey)}`;
      const called = await call(join(base, `/quote?${query}`), { outbound, agent, now, missing });
      if (called.kind !== 'body') return called.kind === 'unchanged' ? { kind: 'failed' } : called;
      return parse(jsonOf(called.text));
    },
  };
}

/** Statuses for a symbol that the free plan does not have, such as those of exchanges outside the United States. */
const MISSING_AT_FINNHUB: readonly number[] = [403];

/** Finnhub, `/quote`. Needs a key; free for personal use. It reports no volume. */
export function finnhub(endpoint: KeyedEndpoint, context: SourceContext): Source<Quote> {
  return keyedQuotes(endpoint, context, {
    name: 'finnhub',
    limits: [{ calls: 60, perMs: 60_000 }],
    keyParameter: 'token',
    missing: MISSING_AT_FINNHUB,
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

/** Statuses, and codes in a body, for an unknown symbol. */
const MISSING_AT_TWELVE_DATA: readonly number[] = [400, 404];
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
    missing: MISSING_AT_TWELVE_DATA,
    parse: parseTwelveData,
  });
}

/** A quote, or an error with status 200: `{"code":404,"message":"...","status":"error"}`. */
export function parseTwelveData(data: unknown): Fetched<Quote> {
  if (at(data, 'status') === 'error') {
    const code = at(data, 'code');
    if (typeof code === 'number' && MISSING_AT_TWELVE_DATA.includes(code)) return { kind: 'missing' };
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
