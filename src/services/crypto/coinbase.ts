import { call, join } from '../providers/sources/call.ts';
import { at, jsonOf } from '../providers/sources/parse.ts';
import { type Source, type SourceContext, unusable } from '../providers/sources/source.ts';
import { type Market, marketOf } from './market.ts';

/** Coinbase Exchange, `/products/BTC-USD/stats`: the last 24 hours of a product, numbers as strings. No key. */
export function coinbase(base: string, { outbound, agent }: SourceContext): Source<Market> {
  return {
    name: 'coinbase',
    limits: [{ calls: 10, perMs: 1000 }],
    async load(key, _validator, now) {
      const called = await call(join(base, `/products/${key}/stats`), {
        outbound,
        agent,
        now,
        missing: [404],
      });
      if (called.kind !== 'body') return called.kind === 'unchanged' ? { kind: 'failed' } : called;
      const data = jsonOf(called.text);
      const value = parseCoinbase(data);
      return value === null ? unusable(data) : { kind: 'value', value };
    },
  };
}

export function parseCoinbase(data: unknown): Market | null {
  return marketOf(at(data, 'last'), at(data, 'open'), at(data, 'volume'));
}
