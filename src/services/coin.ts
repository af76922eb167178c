import { draw, malformedAnswer, momentary, parseInteger } from './answers.ts';
import { type Service, type ServiceDescription, serviceSchema } from './service.ts';

const SIDES = ['heads', 'tails'] as const;
const FLIPS_MAX = 100;

const COIN_ABOUT: ServiceDescription = {
  schema: serviceSchema({
    resource: 'coin',
    title: 'Coin',
    description: `Flips a coin, or up to ${FLIPS_MAX}. New flips for each query, TTL 0.`,
    properties: {
      flips: {
        type: 'string',
        description: 'Each flip, spaces between',
        example: 'heads',
        pattern: '^(heads|tails)( (heads|tails))*$',
      },
      heads: {
        type: 'integer',
        description: 'How many were heads',
        example: 1,
        minimum: 0,
        maximum: FLIPS_MAX,
      },
      tails: {
        type: 'integer',
        description: 'How many were tails',
        example: 0,
        minimum: 0,
        maximum: FLIPS_MAX,
      },
    },
  }),
  template: 'get.{count}.coin.public.v1',
  placeholders: { count: { type: 'integer, may be left out', examples: ['1', '10'] } },
  examples: ['get.coin.public.v1', 'get.10.coin.public.v1'],
  exampleResponse: 'v=svc1;s=ok;t=data;flips=heads;heads=1;tails=0;ts=1767225600',
  ttl: 0,
  errors: [],
};

/** `get.[<count>.]coin.public.v1` */
export function makeCoin(): Service {
  return {
    resource: 'coin',
    operation: 'get',
    enabled: true,
    about: COIN_ABOUT,
    answer(params, now) {
      const count = params.length > 1 ? null : parseInteger(params[0] ?? '1', 3);
      if (count === null || count < 1 || count > FLIPS_MAX) return malformedAnswer('value');
      const flips = Array.from({ length: count }, () => SIDES[draw(0, 1)]!);
      const heads = flips.filter((side) => side === 'heads').length;
      return momentary({ flips: flips.join(' '), heads, tails: count - heads }, now);
    },
  };
}
