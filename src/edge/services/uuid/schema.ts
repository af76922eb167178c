import { serviceSchema } from '../schema.ts';
import type { ServiceDescription } from '../service.ts';

export const UUID_ABOUT: ServiceDescription = {
  schema: serviceSchema({
    resource: 'uuid',
    title: 'UUID',
    description:
      'A UUID (RFC 9562): version 4, random, or version 7, sorted by time. A new one for each query, TTL 0. The network sees it: it is no secret.',
    properties: {
      uuid: {
        type: 'string',
        description: 'The UUID',
        example: '3f0f2ac0-9c11-4a34-8b1c-5d1a6a0f2e77',
        pattern: '^[0-9a-f]{8}-[0-9a-f]{4}-[47][0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$',
      },
      ver: { type: 'integer', description: 'Its version', example: 4, enum: [4, 7] },
    },
  }),
  template: 'get.{version}.uuid.public.v1',
  placeholders: { version: { type: 'may be left out and is v4 then', examples: ['v4', 'v7'] } },
  examples: ['get.uuid.public.v1', 'get.v7.uuid.public.v1'],
  exampleResponse: 'v=svc1;s=ok;t=data;uuid=3f0f2ac0-9c11-4a34-8b1c-5d1a6a0f2e77;ver=4;ts=1767225600',
  ttl: 0,
  errors: [],
};
