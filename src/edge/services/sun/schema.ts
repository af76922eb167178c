import { PLACES_CREDIT } from '../places/place.ts';
import type { FieldSchema } from '../schema.ts';
import { serviceSchema } from '../schema.ts';
import type { ServiceDescription } from '../service.ts';

const INSTANT = '^\\d{4}-\\d{2}-\\d{2}T\\d{2}:\\d{2}:\\d{2}Z$';

function instant(description: string, example: string): FieldSchema {
  return { type: 'string', description, example, pattern: INSTANT };
}

export const SUN_ABOUT: ServiceDescription = {
  schema: serviceSchema({
    resource: 'sun',
    title: 'Sun times',
    description:
      'Sunrise, sunset, solar noon and civil twilight of one solar day at a place, UTC. Without a date: today (UTC). What does not happen is left out.',
    attribution: [PLACES_CREDIT],
    properties: {
      loc: { type: 'string', description: 'Place found, or the coordinates', example: 'London, GB' },
      date: {
        type: 'string',
        description: 'The date, at the mean solar time of the place',
        example: '2026-06-21',
        pattern: '^\\d{4}-\\d{2}-\\d{2}$',
      },
      rise: instant('Upper limb appears, refraction 34 minutes of arc', '2026-06-21T03:43:07Z'),
      set: instant('Upper limb disappears', '2026-06-21T20:21:31Z'),
      noon: instant('Centre crosses the meridian', '2026-06-21T12:02:19Z'),
      dawn: instant('Centre rises above -6 degrees', '2026-06-21T02:55:18Z'),
      dusk: instant('Centre sinks below -6 degrees', '2026-06-21T21:09:19Z'),
      len: {
        type: 'integer',
        description: 'Length of the day in seconds',
        example: 59_904,
        minimum: 0,
        maximum: 90_000,
      },
      state: {
        type: 'string',
        description: 'Whether the sun rises or sets, stays up, or stays down',
        example: 'normal',
        enum: ['normal', 'polarday', 'polarnight'],
      },
    },
    optional: ['rise', 'set', 'dawn', 'dusk'],
  }),
  template: 'get.{location}.sun.public.v1',
  placeholders: {
    location: { type: 'string', examples: ['london', 'paris-tx', '69d65_18d96', '2026-06-21.london'] },
  },
  examples: [
    'get.2026-06-21.london.sun.public.v1',
    'get.london.sun.public.v1',
    'get.-33d87_151d21.sun.public.v1',
  ],
  exampleResponse:
    'v=svc1;s=ok;t=data;loc=London, GB;date=2026-06-21;rise=2026-06-21T03:43:07Z;set=2026-06-21T20:21:31Z;' +
    'noon=2026-06-21T12:02:19Z;dawn=2026-06-21T02:55:18Z;dusk=2026-06-21T21:09:19Z;len=59904;state=normal;ts=1767225600',
  ttl: 86_400,
  errors: [{ code: 'E004', description: 'No such city' }],
};
