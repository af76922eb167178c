import { constant, malformed } from '../answers.ts';
import type { Service } from '../service.ts';
import { WORDS_ABOUT } from './schema.ts';
import { numberWords, ordinalWords, parseNumber } from './words.ts';

/** `get.<number>.words.public.v1`, a number as in `units` */
export function makeWords(): Service {
  return {
    resource: 'words',
    operation: 'get',
    enabled: true,
    about: WORDS_ABOUT,
    answer(params) {
      const [label] = params;
      if (label === undefined) return malformed('parameter');
      const number = params.length > 1 ? null : parseNumber(label.toLowerCase());
      if (number === null) return malformed('value');
      const { isNegative, whole, fraction } = number;
      const fields = {
        val: `${isNegative ? '-' : ''}${whole}${fraction === '' ? '' : `.${fraction}`}`,
        words: numberWords(number),
        ord: ordinalWords(number),
      };
      return constant(fields, WORDS_ABOUT.ttl);
    },
  };
}
