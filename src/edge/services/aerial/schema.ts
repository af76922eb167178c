import { PLACES_CREDIT } from '../places/place.ts';
import { type FieldSchema, serviceSchema } from '../schema.ts';
import type { ServiceDescription } from '../service.ts';

function distance(description: string, example: number): FieldSchema {
  return { type: 'number', description, example, minimum: 0 };
}

export const AERIAL_ABOUT: ServiceDescription = {
  schema: serviceSchema({
    resource: 'aerial',
    title: 'Distance',
    description:
      'Great-circle distance between two cities or coordinates, on a sphere of 6371.0088 km: within 0.6 % of the ellipsoid. It has no ts.',
    attribution: [PLACES_CREDIT],
    properties: {
      from: { type: 'string', description: 'Where it begins', example: 'London, GB' },
      to: { type: 'string', description: 'Where it ends', example: 'Tokyo, JP' },
      km: distance('Kilometres', 9558.5),
      mi: distance('Miles', 5939.4),
      nmi: distance('Nautical miles', 5161.2),
      brg: {
        type: 'integer',
        description: 'Direction at the beginning, degrees from north; not of equal or opposite points',
        example: 32,
        minimum: 0,
        maximum: 359,
      },
    },
    optional: ['brg'],
  }),
  template: 'get.{from}.{to}.aerial.public.v1',
  placeholders: {
    from: { type: 'city or <lat>_<lon>, d for the decimal point', examples: ['london', '40d71_-74d01'] },
    to: { type: 'city or <lat>_<lon>, d for the decimal point', examples: ['tokyo', '-33d87_151d21'] },
  },
  examples: ['get.london.tokyo.aerial.public.v1', 'get.40d71_-74d01.-33d87_151d21.aerial.public.v1'],
  exampleResponse: 'v=svc1;s=ok;t=data;from=London, GB;to=Tokyo, JP;km=9558.5;mi=5939.4;nmi=5161.2;brg=32',
  ttl: 86_400,
  errors: [{ code: 'E004', description: 'No such city' }],
};
