export interface Rate {
  /** Units of the quote for one unit of the base. */
  readonly rate: number;
  /** The date of the rate, `YYYY-MM-DD`. */
  readonly asof: string;
}

/** Upper-case ISO 4217 codes. */
export interface Pair {
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

export function pairKey({ base, quote }: Pair): string {
  return `${base}-${quote}`;
}

export function pairOf(key: string): Pair {
  const [base = '', quote = ''] = key.split('-');
  return { base, quote };
}
