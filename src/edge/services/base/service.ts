import { constant, malformed } from '../answers.ts';
import type { Service } from '../service.ts';
import { parseBaseChange } from './convert.ts';
import { BASE_ABOUT } from './schema.ts';

/** `get.<digits>[-<base>]-to-<base>.base.public.v1` */
export function makeBase(): Service {
  return {
    resource: 'base',
    operation: 'get',
    enabled: true,
    about: BASE_ABOUT,
    answer(params) {
      const [text] = params;
      if (text === undefined) return malformed('parameter');
      const change = params.length > 1 ? 'value' : parseBaseChange(text.toLowerCase());
      if (typeof change === 'string') return malformed(change);
      const { value, from, to } = change;
      return constant({ val: value.toString(from), from, to, res: value.toString(to) }, BASE_ABOUT.ttl);
    },
  };
}
