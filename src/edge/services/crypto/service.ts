import { malformed, notEnabled, notFound } from '../answers.ts';
import { after, outcomeOf } from '../providers/outcome.ts';
import type { Providers } from '../providers/worker/worker-providers.ts';
import type { Service } from '../service.ts';
import { coinKey, parseCoin } from './market.ts';
import { CRYPTO_ABOUT } from './schema.ts';

/** The price of a coin: `get.<sym>[-<quote>].crypto`. */
export function makeCrypto(providers: Providers): Service {
  return {
    resource: 'crypto',
    operation: 'get',
    enabled: providers.has('crypto'),
    about: CRYPTO_ABOUT,
    answer([label, ...more], now) {
      if (label === undefined) return malformed('parameter');
      const coin = more.length > 0 ? null : parseCoin(label);
      if (coin === null) return malformed('value');
      // Nothing is traded for itself.
      if (coin.sym === coin.quote) return providers.has('crypto') ? notFound(now) : notEnabled(now);
      return after(providers.ask('crypto', coinKey(coin), now), (reading) =>
        outcomeOf(reading, now, CRYPTO_ABOUT.ttl, ({ price, change, percent, volume }) => ({
          ...coin,
          prc: price,
          chg: change ?? undefined,
          pct: percent ?? undefined,
          vol: volume,
        })),
      );
    },
  };
}
