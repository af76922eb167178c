import { call, join } from '../providers/call.ts';
import type { KeyedEndpoint } from '../providers/endpoints.ts';
import { at, jsonOf, numberOf, positive, secondsOf, within } from '../providers/parse.ts';
import type { Fetched, Source, SourceContext } from '../providers/source.ts';
import type { Quote } from './quote.ts';

/** Statuses, and codes in a body, by which it says that it does not know a symbol. */
const MISSING: readonly unknown[] = [400, 404];
const LIMITED = 429;
/** Its credits come back with the minute. */
const WAIT_MS = 60_000;
const CURRENCY = 'USD';

/** Twelve Data, `/quote`. Needs a key; the limits are those of the free plan. */
export function twelveData({ base, key: apiKey }: KeyedEndpoint, context: SourceContext): Source<Quote> {
  const { door, agent } = context;
  return {
    name: 'twelvedata',
    limits: [
      { calls: 8, perMs: 60_000 },
      { calls: 800, perMs: 86_400_000 },
    ],
    async load(key, _validator, now) {
      const query = `symbol=${encodeURIComponent(key)}&apikey=${encodeURIComponent(apiKey)}`;
      const called = await call(join(base, `/quote?${query}`), { door, agent, now, missing: [400, 404] });
      if (called.kind !== 'body') return called.kind === 'unchanged' ? { kind: 'failed' } : called;
      return parseTwelveData(jsonOf(called.text));
    },
  };
}

/** A quote, or an error that came with status 200: `{"code":404,"message":"...","status":"error"}`. */
export function parseTwelveData(data: unknown): Fetched<Quote> {
  if (at(data, 'status') === 'error') {
    const code = at(data, 'code');
    if (MISSING.includes(code)) return { kind: 'missing' };
    return code === LIMITED ? { kind: 'limited', waitMs: WAIT_MS } : { kind: 'failed' };
  }
  // A symbol of another country's exchange is another company's.
  const currency = at(data, 'currency');
  if (currency !== undefined && currency !== CURRENCY) return { kind: 'missing' };
  const price = positive(at(data, 'close'));
  const change = numberOf(at(data, 'change'));
  const percent = numberOf(at(data, 'percent_change'));
  const open = positive(at(data, 'open'));
  const high = positive(at(data, 'high'));
  const low = positive(at(data, 'low'));
  if (price === null || change === null || percent === null) return { kind: 'failed' };
  if (open === null || high === null || low === null) return { kind: 'failed' };
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

/** `last_quote_at` is the last quote; `timestamp` begins the trading day, and alone where a plan has no other. */
function quoteTime(data: unknown): number | undefined {
  const times = [secondsOf(at(data, 'timestamp')), secondsOf(at(data, 'last_quote_at'))];
  const told = times.filter((time) => time !== undefined);
  return told.length === 0 ? undefined : Math.max(...told);
}
