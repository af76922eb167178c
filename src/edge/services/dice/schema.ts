import { serviceSchema } from '../schema.ts';
import type { ServiceDescription } from '../service.ts';
import { DICE_MAX, PLUS_MAX, SIDES_MAX } from './formula.ts';

export const DICE_ABOUT: ServiceDescription = {
  schema: serviceSchema({
    resource: 'dice',
    title: 'Dice',
    description: `Rolls up to ${DICE_MAX} dice of 2 to ${SIDES_MAX} sides; p or n adds or subtracts up to ${PLUS_MAX}: 2d6p1 is 2d6+1. A new roll for each query, TTL 0.`,
    properties: {
      dice: {
        type: 'string',
        description: 'What was rolled',
        example: '2d6+1',
        pattern: '^\\d+d\\d+([+-]\\d+)?$',
      },
      rolls: {
        type: 'string',
        description: 'Each die, spaces between',
        example: '3 5',
        pattern: '^\\d+( \\d+)*$',
      },
      sum: { type: 'integer', description: 'Their sum, with what is added', example: 9 },
    },
  }),
  template: 'get.{dice}.dice.public.v1',
  placeholders: { dice: { type: 'string', examples: ['2d6p1', 'd20', '4d6n2'] } },
  examples: ['get.2d6p1.dice.public.v1', 'get.d20.dice.public.v1', 'get.4d6n2.dice.public.v1'],
  exampleResponse: 'v=svc1;s=ok;t=data;dice=2d6+1;rolls=3 5;sum=9;ts=1767225600',
  ttl: 0,
  errors: [],
};
