import { WEEKDAYS } from '../days.ts';
import { PLACES_CREDIT } from '../places/place.ts';
import { serviceSchema } from '../schema.ts';
import type { ServiceDescription } from '../service.ts';

export const TIME_ABOUT: ServiceDescription = {
  schema: serviceSchema({
    resource: 'time',
    title: 'Local time',
    description:
      'The time now in a city or an IANA time zone (hyphens for / and _, -plus- for +), and when the clocks change next. Every name of the IANA database goes before a city: est, cet and egypt are zones. As there, the sign of the Etc zones is reversed: etc-gmt-5 is five hours east of UTC (+05:00), etc-gmt-plus-5 five hours west. An abbreviation that is no zone (pst, bst, ist) is E004. TTL 0.',
    attribution: [PLACES_CREDIT],
    properties: {
      loc: { type: 'string', description: 'The city, where one was asked for', example: 'Tokyo, JP' },
      zone: { type: 'string', description: 'Its IANA time zone', example: 'Asia/Tokyo' },
      iso: {
        type: 'string',
        description: 'Local date and time, and the offset',
        example: '2026-01-01T09:00:00+09:00',
        pattern: '^\\d{4}-\\d{2}-\\d{2}T\\d{2}:\\d{2}:\\d{2}[+-]\\d{2}:\\d{2}$',
      },
      day: { type: 'string', description: 'Day of the week there', example: 'thursday', enum: WEEKDAYS },
      off: { type: 'integer', description: 'Seconds east of UTC', example: 32_400 },
      chg: {
        type: 'string',
        description: 'UTC time of the next change of the offset, within a year',
        example: '2026-03-29T01:00:00Z',
        pattern: '^\\d{4}-\\d{2}-\\d{2}T\\d{2}:\\d{2}:\\d{2}Z$',
      },
      chgoff: { type: 'integer', description: 'Seconds east of UTC from then on', example: 3600 },
    },
    optional: ['loc', 'chg', 'chgoff'],
  }),
  template: 'get.{location}.time.public.v1',
  placeholders: {
    location: {
      type: 'city or IANA time zone',
      examples: ['tokyo', 'london-ontario', 'europe-berlin', 'america-new-york', 'utc'],
    },
  },
  examples: ['get.tokyo.time.public.v1', 'get.europe-berlin.time.public.v1', 'get.utc.time.public.v1'],
  exampleResponse:
    'v=svc1;s=ok;t=data;loc=Tokyo, JP;zone=Asia/Tokyo;iso=2026-01-01T09:00:00+09:00;day=thursday;off=32400;ts=1767225600',
  ttl: 0,
  errors: [{ code: 'E004', description: 'No such city, or an abbreviation that is no zone' }],
};
