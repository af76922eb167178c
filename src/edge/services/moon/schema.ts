import { serviceSchema } from '../schema.ts';
import type { ServiceDescription } from '../service.ts';
import { PHASES } from './day.ts';

export const MOON_ABOUT: ServiceDescription = {
  schema: serviceSchema({
    resource: 'moon',
    title: 'Moon phase',
    description:
      'Phase of the moon on a date (UTC). new, first-quarter, full and last-quarter are given on the date on which the instant falls. Without a date: today.',
    properties: {
      date: {
        type: 'string',
        description: 'The date, UTC',
        example: '2026-03-03',
        pattern: '^\\d{4}-\\d{2}-\\d{2}$',
      },
      phase: { type: 'string', description: 'Phase', example: 'full', enum: PHASES },
      illum: {
        type: 'number',
        description: 'Lit part of the disc at 12:00 UTC, percent',
        example: 100,
        minimum: 0,
        maximum: 100,
      },
      age: {
        type: 'number',
        description: 'Days since the new moon, at 12:00 UTC',
        example: 14,
        minimum: 0,
        maximum: 30,
      },
    },
  }),
  template: 'get.{date}.moon.public.v1',
  placeholders: { date: { type: 'string', examples: ['2026-03-03', '2028-02-29'] } },
  examples: ['get.2026-03-03.moon.public.v1', 'get.moon.public.v1'],
  exampleResponse: 'v=svc1;s=ok;t=data;date=2026-03-03;phase=full;illum=100;age=14;ts=1767225600',
  ttl: 86_400,
  errors: [],
};
