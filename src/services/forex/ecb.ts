import { call, join } from '../providers/sources/call.ts';
import { dateOf, positive } from '../providers/sources/parse.ts';
import type { Fetched, Source, SourceContext } from '../providers/sources/source.ts';
import { pairOf, type Rate } from './pair.ts';

/** Units of each currency for one euro, on a date. */
export interface EuroTable {
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
      if (table === null || now >= keptUntil) {
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
