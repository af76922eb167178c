import { malformed, notEnabled, notFound } from '../answers.ts';
import { after, outcomeOf } from '../providers/outcome.ts';
import type { Providers } from '../providers/worker/worker-providers.ts';
import type { Service } from '../service.ts';
import { pairKey, parsePair } from './pair.ts';
import { FOREX_ABOUT } from './schema.ts';

/** The reference rate of two currencies: `get.<base>-<quote>.forex`. */
export function makeForex(providers: Providers): Service {
  return {
    resource: 'forex',
    operation: 'get',
    enabled: providers.has('forex'),
    about: FOREX_ABOUT,
    answer([label, ...more], now) {
      if (label === undefined) return malformed('parameter');
      const pair = more.length > 0 ? 'malformed' : parsePair(label);
      if (pair === 'malformed') return malformed('value');
      if (pair === 'unknown') return providers.has('forex') ? notFound(now) : notEnabled(now);
      return after(providers.ask('forex', pairKey(pair), now), (reading) =>
        outcomeOf(reading, now, FOREX_ABOUT.ttl, ({ rate, asof }) => ({ ...pair, rate, asof })),
      );
    },
  };
}
