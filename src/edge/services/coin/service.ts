import { malformed, momentary } from '../answers.ts';
import { draw } from '../chance.ts';
import { parseInteger } from '../integers.ts';
import type { Service } from '../service.ts';
import { COIN_ABOUT, FLIPS_MAX, SIDES } from './schema.ts';

/** `get.[<count>.]coin.public.v1` */
export function makeCoin(): Service {
  return {
    resource: 'coin',
    operation: 'get',
    enabled: true,
    about: COIN_ABOUT,
    answer(params, now) {
      const count = params.length > 1 ? null : parseInteger(params[0] ?? '1', 3);
      if (count === null || count < 1 || count > FLIPS_MAX) return malformed('value');
      const flips = Array.from({ length: count }, () => SIDES[draw(0, 1)]!);
      const heads = flips.filter((side) => side === 'heads').length;
      return momentary({ flips: flips.join(' '), heads, tails: count - heads }, now);
    },
  };
}
