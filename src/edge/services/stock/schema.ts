import { flatEnvelope } from '../flat.ts';
import { serviceSchema } from '../schema.ts';
import type { ServiceDescription } from '../service.ts';
import { MICS } from './exchange-map.ts';

/** RR TTL, and the `ttl` of the envelope, seconds. */
export const STOCK_TTL = 30;

export const STOCK_ABOUT: ServiceDescription = {
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
