import { flatEnvelope, malformedAnswer, notEnabled, notFoundAnswer } from './answers.ts';
import { coinKey, parseCoin } from './crypto-prices.ts';
import { after, outcomeOf, providedService } from './providers/outcome.ts';
import type { Providers } from './providers/worker.ts';
import { type Service, type ServiceDescription, serviceSchema } from './service.ts';

const CRYPTO_ABOUT: ServiceDescription = {
  schema: serviceSchema({
    resource: 'crypto',
    title: 'Cryptocurrency price',
    description: 'Last price of a coin, its change and volume over the last 24 hours.',
    attribution: ['Coinbase Exchange', 'Kraken'],
    properties: {
      sym: { type: 'string', description: 'Coin', example: 'BTC', pattern: '^[A-Z0-9]{1,10}$' },
      quote: {
        type: 'string',
        description: 'What it is paid in',
        example: 'USD',
        pattern: '^[A-Z0-9]{3,5}$',
      },
      prc: { type: 'number', description: 'Last price', example: 63123.45 },
      chg: {
        type: 'number',
        description: 'Change since 24 hours before; Kraken, the second source, does not tell it',
        example: -412.1,
      },
      pct: { type: 'number', description: 'The same, percent', example: -0.65 },
      vol: { type: 'number', description: 'Volume of 24 hours, in coins', example: 8412.5 },
    },
    optional: ['chg', 'pct'],
  }),
  template: 'get.{sym}-{quote}.crypto.public.v1',
  placeholders: {
    sym: { type: 'symbol of a coin', examples: ['btc', 'eth'] },
    quote: { type: 'currency; with its hyphen it may be left out and is usd then', examples: ['usd', 'eur'] },
  },
  examples: ['get.btc-usd.crypto.public.v1', 'get.eth.crypto.public.v1'],
  exampleResponse: flatEnvelope({
    sym: 'BTC',
    quote: 'USD',
    prc: 63_123.45,
    chg: -412.1,
    pct: -0.65,
    vol: 8412.5,
    ts: 1_784_282_400,
  }).toString('latin1'),
  ttl: 30,
  errors: [
    { code: 'E004', description: 'No such market' },
    { code: 'E009', description: 'Providers unavailable, nothing kept; SERVFAIL' },
    { code: 'E010', description: 'No provider budget left', retryAfter: 1 },
    { code: 'E011', description: 'Still being fetched, ask again' },
  ],
};

/** The price of a coin: `get.<sym>[-<quote>].crypto`. */
export function makeCrypto(providers: Providers): Service {
  return providedService({
    resource: 'crypto',
    operation: 'get',
    enabled: providers.has('crypto'),
    about: CRYPTO_ABOUT,
    plan([label, ...more], now) {
      if (label === undefined) return malformedAnswer('parameter');
      const coin = more.length > 0 ? null : parseCoin(label);
      if (coin === null) return malformedAnswer('value');
      // Nothing is traded for itself.
      if (coin.sym === coin.quote) return providers.has('crypto') ? notFoundAnswer(now) : notEnabled(now);
      return () =>
        after(providers.ask('crypto', coinKey(coin), now), (reading) =>
          outcomeOf(reading, now, CRYPTO_ABOUT.ttl, ({ price, change, percent, volume }) => ({
            ...coin,
            prc: price,
            chg: change ?? undefined,
            pct: percent ?? undefined,
            vol: volume,
          })),
        );
    },
  });
}
