import { serviceSchema } from '../schema.ts';
import type { ServiceDescription } from '../service.ts';

export const BTC_ABOUT: ServiceDescription = {
  schema: serviceSchema({
    resource: 'btc',
    title: 'Bitcoin chain statistics',
    description: 'Reserved. Where the operator has enabled it, it answers with made-up values (src=mock).',
    properties: {
      height: { type: 'integer', description: 'Blocks in the chain', example: 930_000, minimum: 0 },
      fee: { type: 'number', description: 'Fee in satoshi a virtual byte', example: 3, minimum: 0 },
      src: { type: 'string', description: 'Where the values come from', example: 'mock', enum: ['mock'] },
    },
  }),
  template: 'get.btc.public.v1',
  placeholders: {},
  examples: ['get.btc.public.v1'],
  exampleResponse: 'v=svc1;s=ok;t=data;height=930000;fee=3;src=mock;ts=1767225600',
  ttl: 30,
  errors: [{ code: 'E013', description: 'Not enabled here' }],
};
