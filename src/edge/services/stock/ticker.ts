import { raiseCase } from '../../../core/names/labels.ts';
import { isMic, type Mic } from './exchange-map.ts';

export interface StockLabel {
  /** Upper case, with a share class after a dot: `BRK.B`. */
  readonly ticker: string;
  /** The pinned exchange: null without a pin, `'unusable'` when it is not supported. */
  readonly mic: Mic | null | 'unusable';
}

/** A label has a hyphen for the dot; encoded text may contain the dot itself. */
const TICKER = /^([A-Z][A-Z0-9]{0,5})(?:[.-]([A-Z]{1,2}))?$/;
/** Between a ticker and its exchange. */
const PIN = '-X-';
/** A pin without an exchange: a label cannot end with a hyphen. */
const BARE_PIN = '-X';

/** Parses `<TICKER>[-x-<MIC>]`. Without a ticker: `unusable` if an exchange is pinned, else null. */
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
