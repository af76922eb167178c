import { draw, malformedAnswer, momentary, parseInteger } from './answers.ts';
import { type FieldSchema, type Service, type ServiceDescription, serviceSchema } from './service.ts';

/** Digits of a bound: two bounds of twelve lie less than 2^48 apart, which is what `draw` takes. */
const DIGITS_MAX = 12;
const BOUND = 10 ** DIGITS_MAX - 1;

function bound(description: string, example: number): FieldSchema {
  return { type: 'integer', description, example, minimum: -BOUND, maximum: BOUND };
}

const RANDOM_ABOUT: ServiceDescription = {
  schema: serviceSchema({
    resource: 'random',
    title: 'Random number',
    description: `A whole number between two bounds of at most ${DIGITS_MAX} digits, both included, each with the same chance; a leading n is the minus sign. A new one for each query, TTL 0. The network sees it: it is no secret.`,
    properties: {
      min: bound('Least value', 1),
      max: bound('Greatest value', 100),
      val: bound('The number', 42),
    },
  }),
  template: 'get.{min}-to-{max}.random.public.v1',
  placeholders: {
    min: { type: 'integer', examples: ['1', 'n5', '0'] },
    max: { type: 'integer', examples: ['100', '5', '999999999999'] },
  },
  examples: ['get.1-to-100.random.public.v1', 'get.n5-to-5.random.public.v1'],
  exampleResponse: 'v=svc1;s=ok;t=data;min=1;max=100;val=42;ts=1767225600',
  ttl: 0,
  errors: [],
};

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
      if (label === undefined) return malformedAnswer('parameter');
      const range = params.length > 1 ? null : RANGE.exec(label.toLowerCase());
      const min = range === null ? null : parseInteger(range[1]!, DIGITS_MAX);
      const max = range === null ? null : parseInteger(range[2]!, DIGITS_MAX);
      if (min === null || max === null || min > max) return malformedAnswer('value');
      return momentary({ min, max, val: draw(min, max) }, now);
    },
  };
}
