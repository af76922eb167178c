import { serviceSchema } from '../schema.ts';
import type { ServiceDescription } from '../service.ts';
import { CATEGORIES, UNITS } from './units.ts';

const SLUGS = [...UNITS.keys()];

export const UNITS_ABOUT: ServiceDescription = {
  schema: serviceSchema({
    resource: 'units',
    title: 'Unit conversion',
    description:
      'A value converted between two units of one category. In the value d is the decimal point and a leading n the minus sign. A temperature below absolute zero is FORMERR. The answer never changes: it has no ts.',
    properties: {
      val: { type: 'number', description: 'The value asked for, rounded like the result', example: -40 },
      from: { type: 'string', description: 'Its unit', example: 'c', enum: SLUGS },
      to: { type: 'string', description: 'The unit asked for', example: 'f', enum: SLUGS },
      res: {
        type: 'number',
        description: 'The result: exact, rounded to 12 significant digits, ties to even',
        example: -40,
      },
      cat: {
        type: 'string',
        description: 'The category of both units',
        example: 'temperature',
        enum: CATEGORIES,
      },
    },
  }),
  template: 'get.{value}-{from}-to-{to}.units.public.v1',
  placeholders: {
    value: { type: 'string', examples: ['5', 'd5', 'n40', '98d6'] },
    from: { type: 'string', examples: ['km', 'c', 'gal'] },
    to: { type: 'string', examples: ['mi', 'f', 'l'] },
  },
  examples: [
    'get.n40-c-to-f.units.public.v1',
    'get.5-km-to-mi.units.public.v1',
    'get.d5-gal-to-l.units.public.v1',
  ],
  exampleResponse: 'v=svc1;s=ok;t=data;val=-40;from=c;to=f;res=-40;cat=temperature',
  ttl: 86_400,
  errors: [],
};
