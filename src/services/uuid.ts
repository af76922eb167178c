import { randomUuid, realRandom } from '../base/chance.ts';
import { malformedAnswer, momentary } from './answers.ts';
import { type Service, type ServiceDescription, serviceSchema } from './service.ts';

const UUID_ABOUT: ServiceDescription = {
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

const OCTETS = 16;
const TIME_OCTETS = 6;

/** `get.[v4.|v7.]uuid.public.v1` */
export function makeUuid(): Service {
  return {
    resource: 'uuid',
    operation: 'get',
    enabled: true,
    about: UUID_ABOUT,
    answer(params, now) {
      const version = params.length > 1 ? null : (params[0] ?? 'v4').toLowerCase();
      if (version === 'v4') return momentary({ uuid: randomUuid(realRandom), ver: 4 }, now);
      if (version === 'v7') return momentary({ uuid: uuidOfTime(now), ver: 7 }, now);
      return malformedAnswer('value');
    },
  };
}

/** Version 7: milliseconds since the epoch, then 74 random bits (RFC 9562 §5.7). */
function uuidOfTime(now: number): string {
  const octets = Buffer.from(realRandom(OCTETS));
  octets.writeUIntBE(now, 0, TIME_OCTETS);
  octets[6] = 0x70 | (octets[6]! & 0x0f);
  octets[8] = 0x80 | (octets[8]! & 0x3f);
  return octets.toString('hex').replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5');
}
