import { answered, malformed, notEnabled } from '../answers.ts';
import type { Service } from '../service.ts';
import { BTC_ABOUT } from './schema.ts';

/** The mock chain gets a block every ten minutes, from the real height at the start of 2026. */
const START = Date.UTC(2026, 0, 1);
const START_HEIGHT = 930_000;
const BLOCK_MS = 600_000;
const FEE = 3;

/** `get.btc.public.v1` answers with mock data, or "not enabled" when it is off. */
export function makeBtc(enabled: boolean): Service {
  return {
    resource: 'btc',
    operation: 'get',
    enabled,
    about: BTC_ABOUT,
    answer(params, now) {
      if (params.length > 0) return malformed('value');
      if (!enabled) return notEnabled(now);
      const height = Math.max(0, START_HEIGHT + Math.floor((now - START) / BLOCK_MS));
      return answered({ height, fee: FEE, src: 'mock' }, { ttl: BTC_ABOUT.ttl, now });
    },
  };
}
