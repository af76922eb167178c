import { call, join } from '../providers/sources/call.ts';
import { at, dateOf, jsonOf, positive } from '../providers/sources/parse.ts';
import { type Source, type SourceContext, unusable } from '../providers/sources/source.ts';
import { type Pair, pairOf, type Rate } from './pair.ts';

/** Statuses for an unknown currency. */
const MISSING = [404, 422];

/** Frankfurter v2, `/v2/rate/BASE/QUOTE`: daily rates of central banks. No key, free with credit. */
export function frankfurter(base: string, { outbound, agent }: SourceContext): Source<Rate> {
  return {
    name: 'frankfurter',
    // The provider states no limit; this is a cautious choice.
    limits: [
      { calls: 100, perMs: 10_000 },
      { calls: 20_000, perMs: 86_400_000 },
    ],
    async load(key, _validator, now) {
      const pair = pairOf(key);
      const url = join(base, `/v2/rate/${pair.base}/${pair.quote}`);
      const called = await call(url, { outbound, agent, now, missing: MISSING });
      if (called.kind !== 'body') return called.kind === 'unchanged' ? { kind: 'failed' } : called;
      const data = jsonOf(called.text);
      const value = parseFrankfurter(data, pair);
      return value === null ? unusable(data) : { kind: 'value', value };
    },
  };
}

/** `{"date":"2026-07-17","base":"USD","quote":"EUR","rate":0.8739}` for the requested pair. */
export function parseFrankfurter(data: unknown, pair: Pair): Rate | null {
  const rate = positive(at(data, 'rate'));
  const asof = dateOf(at(data, 'date'));
  if (rate === null || asof === null) return null;
  return at(data, 'base') === pair.base && at(data, 'quote') === pair.quote ? { rate, asof } : null;
}
