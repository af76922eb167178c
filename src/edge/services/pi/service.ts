import { constant, malformed } from '../answers.ts';
import { parseInteger } from '../integers.ts';
import type { Service } from '../service.ts';
import { DIGITS_MAX, piDigits } from './digits.ts';
import { PI_ABOUT } from './schema.ts';

/** `get.<digits>.pi.public.v1` */
export function makePi(): Service {
  return {
    resource: 'pi',
    operation: 'get',
    enabled: true,
    about: PI_ABOUT,
    answer(params) {
      const [label] = params;
      if (label === undefined) return malformed('parameter');
      const count = params.length > 1 ? null : parseInteger(label, 4);
      if (count === null || count < 1 || count > DIGITS_MAX) return malformed('value');
      return constant({ n: count, pi: `3.${piDigits(count)}` }, PI_ABOUT.ttl);
    },
  };
}
