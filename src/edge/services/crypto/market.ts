import { difference, positive, within } from '../providers/parse.ts';

/** What is told of a market, in units of the quote. */
export interface Market {
  readonly price: number;
  /** Since the opening price of the source's period. */
  readonly change: number;
  /** The same, percent. */
  readonly percent: number;
  /** Traded during the last 24 hours, in units of the coin. */
  readonly volume: number;
}

/** A coin and what it is paid in, in capitals. */
export interface Coin {
  readonly sym: string;
  readonly quote: string;
}

const LABEL = /^([a-z0-9]{1,10})(?:-([a-z0-9]{3,5}))?$/i;
const QUOTE_DEFAULT = 'USD';
/** Digits after the point of a percentage. */
const PERCENT_PLACES = 2;

/** Reads `btc` or `btc-eur`; null where it is neither. */
export function parseCoin(label: string): Coin | null {
  const parts = LABEL.exec(label);
  if (parts === null) return null;
  const sym = parts[1]!.toUpperCase();
  const quote = parts[2]?.toUpperCase() ?? QUOTE_DEFAULT;
  return sym === quote ? null : { sym, quote };
}

export function coinKey({ sym, quote }: Coin): string {
  return `${sym}-${quote}`;
}

export function coinOf(key: string): Coin {
  const [sym = '', quote = ''] = key.split('-');
  return { sym, quote };
}

/** A market from a source's own numbers; null when one is missing or cannot be. */
export function marketOf(last: unknown, open: unknown, volume: unknown): Market | null {
  const price = positive(last);
  const opening = positive(open);
  const traded = within(volume, 0, Number.MAX_VALUE);
  const change = difference(last, open);
  if (price === null || opening === null || traded === null || change === null) return null;
  const percent = Number(((change / opening) * 100).toFixed(PERCENT_PLACES));
  return { price, change, percent, volume: traded };
}
