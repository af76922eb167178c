import { raiseCase } from '../protocol/names/labels.ts';
import {
  type FlatFields,
  flatEnvelope,
  malformedAnswer,
  malformedWithEnvelope,
  PERCENT_PLACES,
  rounded,
} from './answers.ts';
import { type ExchangeMap, isCurrent, isMic, MICS, type Mic } from './exchanges.ts';
import { after, outcomeOf, providedService } from './providers/outcome.ts';
import type { Providers } from './providers/worker.ts';
import { type Service, type ServiceDescription, serviceSchema } from './service.ts';
import type { Quote } from './stock-quotes.ts';

interface StockLabel {
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
function parseStockLabel(label: string): StockLabel | 'unusable' | null {
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

/** RR TTL, and the `ttl` of the envelope, seconds. */
const STOCK_TTL = 30;

const STOCK_ABOUT: ServiceDescription = {
  schema: serviceSchema({
    resource: 'stock',
    title: 'US stock quote',
    description:
      'Last price of a share in US dollars, of no particular venue. Exchange fields: all three or none.',
    attribution: ['Twelve Data', 'Finnhub'],
    properties: {
      sym: { type: 'string', description: 'Ticker', example: 'AAPL', pattern: '^[A-Z][A-Z0-9.]*$' },
      exchref: { type: 'string', description: 'MIC of the listing exchange', example: 'XNAS', enum: MICS },
      exchsrc: { type: 'string', description: 'Source of that reference', example: 'nasdaqtrader' },
      exchasof: { type: 'string', description: 'Date of that reference', example: '2026-07-01' },
      prc: { type: 'number', description: 'Price', example: 148.85 },
      chg: { type: 'number', description: 'Change since the previous close', example: -0.24 },
      pct: { type: 'number', description: 'The same, percent', example: -0.16 },
      vol: {
        type: 'number',
        description: 'Shares traded; Finnhub, the second source, does not tell it',
        example: 67903927,
      },
      opn: { type: 'number', description: 'Open', example: 148.44 },
      hi: { type: 'number', description: 'High', example: 149.09 },
      lo: { type: 'number', description: 'Low', example: 146.37 },
      h52: { type: 'number', description: '52-week high', example: 157.26 },
      l52: { type: 'number', description: '52-week low', example: 103.1 },
      pe: { type: 'number', description: 'Price to earnings', example: 29.1 },
      div: { type: 'number', description: 'Dividend yield, percent', example: 0.6 },
    },
    optional: ['exchref', 'exchsrc', 'exchasof', 'vol', 'h52', 'l52', 'pe', 'div'],
  }),
  template: 'get.{ticker}.stock.public.v1',
  placeholders: {
    ticker: {
      type: 'ticker, - before a class of shares; -x-<MIC> behind it, as in aapl-x-xnas, pins the listing exchange where the server has a map of exchanges',
      // An example that pins an exchange answers only where the operator has imported a map.
      examples: ['aapl', 'brk-b'],
    },
  },
  examples: ['get.aapl.stock.public.v1'],
  exampleResponse: flatEnvelope({
    sym: 'AAPL',
    exchref: 'XNAS',
    exchsrc: 'nasdaqtrader',
    exchasof: '2026-07-01',
    prc: 148.85,
    chg: -0.24,
    pct: -0.16,
    vol: 67_903_927,
    opn: 148.44,
    hi: 149.09,
    lo: 146.37,
    ttl: STOCK_TTL,
    ts: 1_784_282_400,
  }).toString('latin1'),
  ttl: STOCK_TTL,
  errors: [
    { code: 'E004', description: 'No such ticker' },
    { code: 'E005', description: 'Exchange not to be had for this ticker; FORMERR' },
    { code: 'E009', description: 'Providers unavailable, nothing kept; SERVFAIL' },
    { code: 'E010', description: 'No provider budget left', retryAfter: 20 },
    { code: 'E011', description: 'Still being fetched, ask again' },
    { code: 'E013', description: 'Not enabled on this node' },
  ],
};

/** Milliseconds. An import may fix the fault at any moment. */
const FAULT_MS = 1000;

/** `get.<TICKER>[-x-<MIC>].stock`. Every fault of a pinned exchange is the same FORMERR, so it does not reveal its cause. */
export function makeStock(providers: Providers, exchanges: () => ExchangeMap | null): Service {
  return providedService({
    resource: 'stock',
    operation: 'get',
    enabled: providers.has('stock'),
    about: STOCK_ABOUT,
    plan([label, ...more], now) {
      if (label === undefined) return malformedAnswer('parameter');
      const asked = more.length > 0 ? null : parseStockLabel(label);
      if (asked === null) return malformedAnswer('ticker');
      if (asked === 'unusable') return malformedWithEnvelope('ticker', now + FAULT_MS);
      const provenance = provenanceOf(asked, exchanges(), now);
      if (asked.mic !== null && provenance?.exchref !== asked.mic) {
        return malformedWithEnvelope('ticker', now + FAULT_MS);
      }
      return () =>
        after(providers.ask('stock', asked.ticker, now), (reading) =>
          outcomeOf(reading, now, STOCK_TTL, (quote) => fieldsOf(asked, provenance, quote)),
        );
    },
  });
}

/** All three or none. */
interface Provenance {
  readonly exchref: string;
  readonly exchsrc: string;
  readonly exchasof: string;
}

function provenanceOf({ ticker }: StockLabel, map: ExchangeMap | null, now: number): Provenance | null {
  const mic = map?.listed.get(ticker);
  if (map === null || mic === undefined || !isCurrent(map, now)) return null;
  return { exchref: mic, exchsrc: map.tag, exchasof: map.asof };
}

function fieldsOf({ ticker }: StockLabel, provenance: Provenance | null, quote: Quote): FlatFields {
  return {
    sym: ticker,
    ...provenance,
    prc: quote.price,
    chg: quote.change,
    pct: rounded(quote.percent, PERCENT_PLACES),
    vol: quote.volume ?? undefined,
    opn: quote.open,
    hi: quote.high,
    lo: quote.low,
    h52: quote.yearHigh ?? undefined,
    l52: quote.yearLow ?? undefined,
    ttl: STOCK_TTL,
  };
}
