/** A reference rate. */
export interface Rate {
  /** Units of the quote for one of the base. */
  readonly rate: number;
  /** The date of the rate, `YYYY-MM-DD`. */
  readonly asof: string;
}

/** Codes of ISO 4217, in capitals. */
export interface Pair {
  readonly base: string;
  readonly quote: string;
}

const LABEL = /^([a-z]{3})-([a-z]{3})$/i;
/** Those of Node's own data (CLDR): what is none of them is never asked for. */
const CURRENCIES: ReadonlySet<string> = new Set(Intl.supportedValuesOf('currency'));

/** Reads `usd-eur`. `malformed` is FORMERR, `unknown` a code that is no currency's, or the same code twice: E004. */
export function parsePair(label: string): Pair | 'malformed' | 'unknown' {
  const parts = LABEL.exec(label);
  if (parts === null) return 'malformed';
  const base = parts[1]!.toUpperCase();
  const quote = parts[2]!.toUpperCase();
  // No source has a rate of a currency for itself.
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
