import { flatEnvelope, malformedAnswer, notEnabled, notFoundAnswer } from './answers.ts';
import { currencyPair, parsePair } from './forex-rates.ts';
import { after, outcomeOf, providedService } from './providers/outcome.ts';
import type { Providers } from './providers/worker.ts';
import { type Service, type ServiceDescription, serviceSchema } from './service.ts';

const FOREX_ABOUT: ServiceDescription = {
  schema: serviceSchema({
    resource: 'forex',
    title: 'Exchange rate',
    description: 'Reference rate of two currencies, once a working day.',
    attribution: ['Frankfurter (central banks)', 'European Central Bank'],
    properties: {
      base: { type: 'string', description: 'ISO 4217 code', example: 'USD', pattern: '^[A-Z]{3}$' },
      quote: { type: 'string', description: 'ISO 4217 code', example: 'EUR', pattern: '^[A-Z]{3}$' },
      rate: { type: 'number', description: 'Units of quote for one of base', example: 0.8739 },
      asof: { type: 'string', description: 'Date of the rate', example: '2026-07-17' },
    },
  }),
  template: 'get.{base}-{quote}.forex.public.v1',
  placeholders: {
    base: { type: 'ISO 4217 code', examples: ['usd', 'gbp'] },
    quote: { type: 'ISO 4217 code', examples: ['eur', 'jpy'] },
  },
  examples: ['get.usd-eur.forex.public.v1', 'get.gbp-jpy.forex.public.v1'],
  exampleResponse: flatEnvelope({
    base: 'USD',
    quote: 'EUR',
    rate: 0.8739,
    asof: '2026-07-17',
    ts: 1_784_282_400,
  }).toString('latin1'),
  ttl: 900,
  errors: [
    { code: 'E004', description: 'No such currency' },
    { code: 'E009', description: 'Providers unavailable, nothing kept; SERVFAIL' },
    { code: 'E010', description: 'No provider budget left', retryAfter: 10 },
    { code: 'E011', description: 'Still being fetched, ask again' },
  ],
};

/** The reference rate of two currencies: `get.<base>-<quote>.forex`. */
export function makeForex(providers: Providers): Service {
  return providedService({
    resource: 'forex',
    operation: 'get',
    enabled: providers.has('forex'),
    about: FOREX_ABOUT,
    plan([label, ...more], now) {
      if (label === undefined) return malformedAnswer('parameter');
      const pair = more.length > 0 ? 'malformed' : parsePair(label);
      if (pair === 'malformed') return malformedAnswer('value');
      if (pair === 'unknown') return providers.has('forex') ? notFoundAnswer(now) : notEnabled(now);
      return () =>
        after(providers.ask('forex', currencyPair(pair), now), (reading) =>
          outcomeOf(reading, now, FOREX_ABOUT.ttl, ({ rate, asof }) => ({ ...pair, rate, asof })),
        );
    },
  });
}
