import { call, join } from '../providers/sources/call.ts';
import { at, jsonOf } from '../providers/sources/parse.ts';
import {
  type Fetched,
  type Source,
  type SourceContext,
  UNUSABLE,
  unusable,
} from '../providers/sources/source.ts';
import { coinOf, type Market, marketOf } from './market.ts';

/** Kraken's names of two coins. */
const OWN_NAMES: ReadonlyMap<string, string> = new Map([
  ['BTC', 'XBT'],
  ['DOGE', 'XDG'],
]);
/** Kraken's error for a pair that it does not know. */
const UNKNOWN = 'EQuery:Unknown asset pair';
/** Errors about the pair that was asked for. */
const REFUSES_KEY = /^(?:EQuery|EGeneral:Invalid arguments)/;
const LIMITED = /^(?:EAPI:Rate limit|EGeneral:Too many requests)/;
/** Milliseconds. Kraken does not send a wait. */
const WAIT_MS = 30_000;

/** Kraken, `/0/public/Ticker?pair=XBTUSD`. No key. `o` opens the UTC day; the price 24 hours ago is not available. */
export function kraken(base: string, { outbound, agent }: SourceContext): Source<Market> {
  return {
    name: 'kraken',
    limits: [{ calls: 10, perMs: 10_000 }],
    async load(key, _validator, now) {
      const { sym, quote } = coinOf(key);
      const pair = [sym, quote].map((name) => OWN_NAMES.get(name) ?? name).join('');
      const called = await call(join(base, `/0/public/Ticker?pair=${pair}`), { outbound, agent, now });
      if (called.kind !== 'body') return called.kind === 'unchanged' ? { kind: 'failed' } : called;
      return parseKraken(jsonOf(called.text));
    },
  };
}

/** `{"error":[],"result":{"XXBTZUSD":{"c":["1773.8","0.13"],"v":[today,24h],"o":"1783.57"}}}`, with one result. */
export function parseKraken(data: unknown): Fetched<Market> {
  const error = at(data, 'error', 0);
  if (error === UNKNOWN) return { kind: 'missing' };
  if (typeof error === 'string' && LIMITED.test(error)) return { kind: 'limited', waitMs: WAIT_MS };
  const result = at(data, 'result');
  const entries = typeof result === 'object' && result !== null ? Object.values(result) : [];
  const [entry] = entries as unknown[];
  if (typeof error === 'string' && REFUSES_KEY.test(error)) return UNUSABLE;
  if (error !== undefined) return { kind: 'failed' };
  if (entries.length !== 1) return unusable(data);
  const value = marketOf(at(entry, 'c', 0), null, at(entry, 'v', 1));
  return value === null ? UNUSABLE : { kind: 'value', value };
}
