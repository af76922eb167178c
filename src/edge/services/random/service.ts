import { malformed, momentary } from '../answers.ts';
import { draw } from '../chance.ts';
import { parseInteger } from '../integers.ts';
import type { Service } from '../service.ts';
import { DIGITS_MAX, RANDOM_ABOUT } from './schema.ts';

const RANGE = /^([^-]+|-[^-]+)-to-(.+)$/;

/** `get.<min>-to-<max>.random.public.v1` */
export function makeRandom(): Service {
  return {
    resource: 'random',
    operation: 'get',
    enabled: true,
    about: RANDOM_ABOUT,
    answer(params, now) {
      const [label] = params;
      if (label === undefined) return malformed('parameter');
      const range = params.length > 1 ? null : RANGE.exec(label.toLowerCase());
      const min = range === null ? null : parseInteger(range[1]!, DIGITS_MAX);
      const max = range === null ? null : parseInteger(range[2]!, DIGITS_MAX);
      if (min === null || max === null || min > max) return malformed('value');
      return momentary({ min, max, val: draw(min, max) }, now);
    },
  };
}
