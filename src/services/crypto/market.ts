import { PERCENT_PLACES, rounded } from '../flat.ts';
import { difference, positive, within } from '../providers/sources/parse.ts';

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

export interface Coin {
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

export function coinOf(key: string): Coin {
  const [sym = '', quote = ''] = key.split('-');
  return { sym, quote };
}

/** A market from the numbers of a source; null when one is missing or impossible. `dayBefore`: price 24 hours ago, or null. */
export function marketOf(last: unknown, dayBefore: unknown, volume: unknown): Market | null {
  const price = positive(last);
  const traded = within(volume, 0, Number.MAX_VALUE);
  if (price === null || traded === null) return null;
  if (dayBefore === null) return { price, change: null, percent: null, volume: traded };
  const before = positive(dayBefore);
  const change = difference(last, dayBefore);
  if (before === null || change === null) return null;
  return { price, change, percent: rounded((change / before) * 100, PERCENT_PLACES), volume: traded };
}
