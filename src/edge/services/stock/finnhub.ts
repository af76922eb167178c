import { call, join } from '../providers/call.ts';
import type { KeyedEndpoint } from '../providers/endpoints.ts';
import { at, jsonOf, numberOf, positive, secondsOf } from '../providers/parse.ts';
import type { Fetched, Source, SourceContext } from '../providers/source.ts';
import type { Quote } from './quote.ts';

/** Finnhub, `/quote`. Needs a key; free for personal use. It tells no volume. */
export function finnhub({ base, key: apiKey }: KeyedEndpoint, { door, agent }: SourceContext): Source<Quote> {
  return {
    name: 'finnhub',
    limits: [{ calls: 60, perMs: 60_000 }],
    async load(key, _validator, now) {
      const query = `symbol=${encodeURIComponent(key)}&token=${encodeURIComponent(apiKey)}`;
      const called = await call(join(base, `/quote?${query}`), { door, agent, now });
      if (called.kind !== 'body') return called.kind === 'unchanged' ? { kind: 'failed' } : called;
      return parseFinnhub(jsonOf(called.text));
    },
  };
}

/** `{"c":182.63,"d":1.85,"dp":1.02,"h":..,"l":..,"o":..,"pc":..,"t":1700000000}`; zeros for a symbol it does not know. */
export function parseFinnhub(data: unknown): Fetched<Quote> {
  if (at(data, 'c') === 0 && at(data, 't') === 0) return { kind: 'missing' };
  const price = positive(at(data, 'c'));
  const change = numberOf(at(data, 'd'));
  const percent = numberOf(at(data, 'dp'));
  const open = positive(at(data, 'o'));
  const high = positive(at(data, 'h'));
  const low = positive(at(data, 'l'));
  if (price === null || change === null || percent === null) return { kind: 'failed' };
  if (open === null || high === null || low === null) return { kind: 'failed' };
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
