import { serviceSchema } from '../schema.ts';
import type { ServiceDescription } from '../service.ts';
import { DIGITS_MAX } from './digits.ts';

export const PI_ABOUT: ServiceDescription = {
  schema: serviceSchema({
    resource: 'pi',
    title: 'Digits of pi',
    description: `Pi with 1 to ${DIGITS_MAX} digits behind the point, cut off and not rounded. The answer never changes: it has no ts.`,
    properties: {
      n: {
        type: 'integer',
        description: 'Digits behind the point',
        example: 20,
        minimum: 1,
        maximum: DIGITS_MAX,
      },
      pi: { type: 'string', description: 'Pi', example: '3.14159265358979323846', pattern: '^3\\.\\d+$' },
    },
  }),
  template: 'get.{digits}.pi.public.v1',
  placeholders: { digits: { type: 'integer', examples: ['20', '1', '1000'] } },
  examples: ['get.20.pi.public.v1', 'get.1000.pi.public.v1'],
  exampleResponse: 'v=svc1;s=ok;t=data;n=20;pi=3.14159265358979323846',
  ttl: 86_400,
  errors: [],
};
