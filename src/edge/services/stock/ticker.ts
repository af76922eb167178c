import { raiseCase } from '../../../core/names/labels.ts';
import { isMic, type Mic } from './exchange-map.ts';

/** What the label of a stock query asks for. */
export interface StockLabel {
  /** In capitals; a class of shares behind a dot, as in `BRK.B`. */
  readonly ticker: string;
  /** The exchange that is pinned: null when none is, `'unusable'` when it is none of those that can be. */
  readonly mic: Mic | null | 'unusable';
}

/** In a label a hyphen stands for the dot; text that was encoded may hold the dot itself. */
const TICKER = /^([A-Z][A-Z0-9]{0,5})(?:[.-]([A-Z]{1,2}))?$/;
/** Between a ticker and the exchange that it is pinned to. */
const PIN = '-X-';
/** A pin without an exchange: a label cannot end with a hyphen. */
const BARE_PIN = '-X';

/** Reads `<TICKER>[-x-<MIC>]`. Without a ticker: null, or `unusable` where an exchange is pinned, as every fault of a pin is. */
export function parseStockLabel(label: string): StockLabel | 'unusable' | null {
  const text = raiseCase(label);
  if (text.endsWith(BARE_PIN)) {
    const ticker = readTicker(text.slice(0, -BARE_PIN.length));
    return ticker === null ? 'unusable' : { ticker, mic: 'unusable' };
  }
  const at = text.indexOf(PIN);
  const ticker = readTicker(at < 0 ? text : text.slice(0, at));
  if (ticker === null) return at < 0 ? null : 'unusable';
  if (at < 0) return { ticker, mic: null };
  const mic = text.slice(at + PIN.length);
  return { ticker, mic: isMic(mic) ? mic : 'unusable' };
}

function readTicker(text: string): string | null {
  const parts = TICKER.exec(text);
  if (parts === null) return null;
  return parts[2] === undefined ? parts[1]! : `${parts[1]}.${parts[2]}`;
}
