import { answered, malformedAnswer, notEnabled } from './answers.ts';
import { type Service, type ServiceDescription, serviceSchema } from './service.ts';

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

/** The mock chain gets a block every ten minutes, from the real height at the start of 2026. */
const START = Date.UTC(2026, 0, 1);
const START_HEIGHT = 930_000;
const BLOCK_MS = 600_000;
const FEE = 3;

/** `get.btc.public.v1` answers with mock data, or "not enabled" when it is off. */
export function makeBtc(enabled: boolean): Service {
  return {
    resource: 'btc',
    operation: 'get',
    enabled,
    about: BTC_ABOUT,
    answer(params, now) {
      if (params.length > 0) return malformedAnswer('value');
      if (!enabled) return notEnabled(now);
      const height = Math.max(0, START_HEIGHT + Math.floor((now - START) / BLOCK_MS));
      return answered({ height, fee: FEE, src: 'mock' }, { ttl: BTC_ABOUT.ttl, now });
    },
  };
}
