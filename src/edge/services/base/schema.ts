import { type FieldSchema, serviceSchema } from '../schema.ts';
import type { ServiceDescription } from '../service.ts';
import { BASE_MAX, BASE_MIN } from './convert.ts';

const DIGITS = '^-?[0-9a-z]+$';

function base(description: string, example: number): FieldSchema {
  return { type: 'integer', description, example, minimum: BASE_MIN, maximum: BASE_MAX };
}

export const BASE_ABOUT: ServiceDescription = {
  schema: serviceSchema({
    resource: 'base',
    title: 'Number in another base',
    description:
      'A whole number in another base of 2 to 36; bin, oct, dec and hex are names of bases. Without its base the number is decimal. A leading n is the minus sign, up to base 23. The answer never changes: it has no ts.',
    properties: {
      val: { type: 'string', description: 'The number asked for', example: '255', pattern: DIGITS },
      from: base('Its base', 10),
      to: base('The base asked for', 16),
      res: { type: 'string', description: 'The number in that base', example: 'ff', pattern: DIGITS },
    },
  }),
  template: 'get.{number}-{from}-to-{to}.base.public.v1',
  placeholders: {
    number: { type: 'string', examples: ['255', 'ff', 'n40', 'zz'] },
    from: { type: 'base, may be left out with its hyphen', examples: ['16', 'hex', '36'] },
    to: { type: 'base', examples: ['2', 'bin', '10'] },
  },
  examples: [
    'get.255-to-hex.base.public.v1',
    'get.ff-hex-to-bin.base.public.v1',
    'get.n40-10-to-7.base.public.v1',
  ],
  exampleResponse: 'v=svc1;s=ok;t=data;val=255;from=10;to=16;res=ff',
  ttl: 86_400,
  errors: [],
};
