import { serviceSchema } from '../schema.ts';
import type { ServiceDescription } from '../service.ts';

export const SIDES = ['heads', 'tails'] as const;
export const FLIPS_MAX = 100;

export const COIN_ABOUT: ServiceDescription = {
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
