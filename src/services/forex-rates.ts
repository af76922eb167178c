import { isAhead } from '../base/time.ts';
import {
  at,
  call,
  dateOf,
  type Fetched,
  join,
  jsonOf,
  positive,
  type Source,
  type SourceContext,
  unusable,
} from './providers/source.ts';

export interface Rate {
  /** Units of the quote for one unit of the base. */
  readonly rate: number;
  /** The date of the rate, `YYYY-MM-DD`. */
  readonly asof: string;
}

/** Upper-case ISO 4217 codes. */
interface Pair {
  readonly base: string;
  readonly quote: string;
}

const LABEL = /^([a-z]{3})-([a-z]{3})$/i;
/** Currencies in Node's data (CLDR). Others are never requested. */
const CURRENCIES: ReadonlySet<string> = new Set(Intl.supportedValuesOf('currency'));

/** Parses `usd-eur`. `malformed`: FORMERR. `unknown`: not a currency, or the same code twice (E004). */
export function parsePair(label: string): Pair | 'malformed' | 'unknown' {
  const parts = LABEL.exec(label);
  if (parts === null) return 'malformed';
  const base = parts[1]!.toUpperCase();
  const quote = parts[2]!.toUpperCase();
  // No source has a rate from a currency to itself.
  if (base === quote) return 'unknown';
  return CURRENCIES.has(base) && CURRENCIES.has(quote) ? { base, quote } : 'unknown';
}

export function currencyPair({ base, quote }: Pair): string {
  return `${base}-${quote}`;
}

function pairOf(key: string): Pair {
  const [base = '', quote = ''] = key.split('-');
  return { base, quote };
}

/** Units of each currency for one euro, on a date. */
interface EuroTable {
  readonly asof: string;
  readonly rates: ReadonlyMap<string, number>;
}

const TIME = /<Cube\s+time=['"]([0-9-]{10})['"]/;
const ROW = /<Cube\s+currency=['"]([A-Z]{3})['"]\s+rate=['"]([0-9.]{1,24})['"]\s*\/>/g;
/** A table with fewer rows is incomplete; about 30 are usual. */
const ROWS_MIN = 5;
/** Milliseconds. The table answers all pairs, so it is fetched once. */
const KEEP_MS = 900_000;
const RETRY_MS = 30_000;
/** Significant digits of a rate computed from two rates of five or six digits. */
const DIGITS = 6;

/** ECB reference rates: one XML file of about 30 currencies per working day. Free with credit. */
export function ecb(base: string, { outbound, agent }: SourceContext): Source<Rate> {
  let table: Promise<Fetched<EuroTable>> | null = null;
  let keptUntil = 0;

  async function fetchTable(now: number): Promise<Fetched<EuroTable>> {
    const url = join(base, '/stats/eurofxref/eurofxref-daily.xml');
    const called = await call(url, { outbound, agent, now });
    if (called.kind !== 'body') return called.kind === 'unchanged' ? { kind: 'failed' } : called;
    const value = parseEcb(called.text);
    return value === null ? { kind: 'failed' } : { kind: 'value', value };
  }

  return {
    name: 'ecb',
    // Limits lookups in the table, which cost no request.
    limits: [{ calls: 1000, perMs: 10_000 }],
    async load(key, _validator, now) {
      if (table === null || !isAhead(keptUntil, now, KEEP_MS)) {
        keptUntil = now + KEEP_MS;
        table = fetchTable(now);
        if ((await table).kind !== 'value') keptUntil = now + RETRY_MS;
      }
      const fetched = await table;
      if (fetched.kind !== 'value') return fetched.kind === 'limited' ? fetched : { kind: 'failed' };
      const value = crossRate(fetched.value, key);
      return value === null ? { kind: 'missing' } : { kind: 'value', value };
    },
  };
}

/** Null for other files. XML is not parsed: two element patterns are matched. */
export function parseEcb(text: string): EuroTable | null {
  const asof = dateOf(TIME.exec(text)?.[1]);
  if (asof === null) return null;
  const rates = new Map([['EUR', 1]]);
  for (const [, currency, rate] of text.matchAll(ROW)) {
    const value = positive(rate);
    if (value === null) return null;
    rates.set(currency!, value);
  }
  return rates.size < ROWS_MIN ? null : { asof, rates };
}

export function crossRate({ asof, rates }: EuroTable, key: string): Rate | null {
  const { base, quote } = pairOf(key);
  const from = rates.get(base);
  const to = rates.get(quote);
  if (from === undefined || to === undefined) return null;
  return { rate: Number((to / from).toPrecision(DIGITS)), asof };
}

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
