import { PERCENT_PLACES, rounded } from './answers.ts';
import {
  at,
  call,
  difference,
  type Fetched,
  join,
  jsonOf,
  positive,
  type Source,
  type SourceContext,
  UNUSABLE,
  unusable,
  within,
} from './providers/source.ts';

/** Prices in units of the quote currency. */
export interface Market {
  readonly price: number;
  /** Since 24 hours ago; null where the source does not report it. */
  readonly change: number | null;
  /** As `change`, in percent. */
  readonly percent: number | null;
  /** Traded in the last 24 hours, in units of the coin. */
  readonly volume: number;
}

interface Coin {
  readonly sym: string;
  readonly quote: string;
}

const LABEL = /^([a-z0-9]{1,10})(?:-([a-z0-9]{3,5}))?$/i;
const QUOTE_DEFAULT = 'USD';

/** Parses `btc` or `btc-eur`; null for other labels. */
export function parseCoin(label: string): Coin | null {
  const parts = LABEL.exec(label);
  if (parts === null) return null;
  const sym = parts[1]!.toUpperCase();
  const quote = parts[2]?.toUpperCase() ?? QUOTE_DEFAULT;
  return { sym, quote };
}

export function coinKey({ sym, quote }: Coin): string {
  return `${sym}-${quote}`;
}

function coinOf(key: string): Coin {
  const [sym = '', quote = ''] = key.split('-');
  return { sym, quote };
}

/** A market from the numbers of a source; null when one is missing or impossible. `dayBefore`: price 24 hours ago, or null. */
function marketOf(last: unknown, dayBefore: unknown, volume: unknown): Market | null {
  const price = positive(last);
  const traded = within(volume, 0, Number.MAX_VALUE);
  if (price === null || traded === null) return null;
  if (dayBefore === null) return { price, change: null, percent: null, volume: traded };
  const before = positive(dayBefore);
  const change = difference(last, dayBefore);
  if (before === null || change === null) return null;
  return { price, change, percent: rounded((change / before) * 100, PERCENT_PLACES), volume: traded };
}

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

/** Kraken's names of two coins. */
const OWN_NAMES: ReadonlyMap<string, string> = new Map([
  ['BTC', 'XBT'],
  ['DOGE', 'XDG'],
]);
/**
 * What Kraken takes as a quote, in its own names. It is asked for coin and quote in one word, and `ETHWUSD` is ETHW in USD: a quote of
 * another name, such as WUSD, would get that price.
 */
const QUOTES: readonly string[] = [
  ...['USD', 'EUR', 'GBP', 'CAD', 'JPY', 'AUD', 'CHF'],
  ...['USDT', 'USDC', 'DAI', 'PYUSD', 'RLUSD', 'XBT', 'ETH'],
];
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
      const coin = { sym: OWN_NAMES.get(sym) ?? sym, quote: OWN_NAMES.get(quote) ?? quote };
      const pair = coin.sym + coin.quote;
      if (quoteOf(pair) !== coin.quote) return { kind: 'missing' };
      const called = await call(join(base, `/0/public/Ticker?pair=${pair}`), { outbound, agent, now });
      if (called.kind !== 'body') return called.kind === 'unchanged' ? { kind: 'failed' } : called;
      return parseKraken(jsonOf(called.text), coin);
    },
  };
}

/** The longest quote at the end of a pair. */
function quoteOf(pair: string): string | undefined {
  return QUOTES.filter((quote) => pair.endsWith(quote)).toSorted((a, b) => b.length - a.length)[0];
}

/**
 * `{"error":[],"result":{"XXBTZUSD":{"c":["1773.8","0.13"],"v":[today,24h],"o":"1783.57"}}}`, with one result, whose name must be that of
 * the pair. Older coins have an X or Z before their name there.
 * @param coin in Kraken's own names
 */
export function parseKraken(data: unknown, { sym, quote }: Coin): Fetched<Market> {
  const error = at(data, 'error', 0);
  if (error === UNKNOWN) return { kind: 'missing' };
  if (typeof error === 'string' && LIMITED.test(error)) return { kind: 'limited', waitMs: WAIT_MS };
  const result = at(data, 'result');
  const entries: [string, unknown][] =
    typeof result === 'object' && result !== null ? Object.entries(result) : [];
  const [name, entry] = entries[0] ?? [];
  if (typeof error === 'string' && REFUSES_KEY.test(error)) return UNUSABLE;
  if (error !== undefined) return { kind: 'failed' };
  if (entries.length !== 1 || !new RegExp(`^[XZ]?${sym}[XZ]?${quote}$`).test(name ?? ''))
    return unusable(data);
  const value = marketOf(at(entry, 'c', 0), null, at(entry, 'v', 1));
  return value === null ? UNUSABLE : { kind: 'value', value };
}
