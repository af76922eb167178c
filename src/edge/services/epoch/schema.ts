import { WEEKDAYS } from '../days.ts';
import { serviceSchema } from '../schema.ts';
import type { ServiceDescription } from '../service.ts';

export const EPOCH_ABOUT: ServiceDescription = {
  schema: serviceSchema({
    resource: 'epoch',
    title: 'Unix time',
    description:
      'An instant as Unix seconds and as ISO 8601, UTC, of the years 0 to 9999. In the name n is the minus sign, d the decimal point, -ms marks milliseconds, and a time has hyphens for its colons. Without an instant: now, TTL 0.',
    properties: {
      sec: {
        type: 'number',
        description: 'Seconds since 1970-01-01T00:00:00Z, without leap seconds',
        example: 1_767_225_600,
      },
      iso: {
        type: 'string',
        description: 'Date and time, UTC',
        example: '2026-01-01T00:00:00Z',
        pattern: '^\\d{4}-\\d{2}-\\d{2}T\\d{2}:\\d{2}:\\d{2}(\\.\\d{3})?Z$',
      },
      day: { type: 'string', description: 'Day of the week', example: 'thursday', enum: WEEKDAYS },
      week: {
        type: 'string',
        description: 'Week of ISO 8601',
        example: '2026-W01',
        pattern: '^\\d{4}-W\\d{2}$',
      },
    },
    optional: ['week'],
  }),
  template: 'get.{instant}.epoch.public.v1',
  placeholders: {
    instant: {
      type: 'Unix seconds or ISO 8601',
      examples: ['1767225600', 'n1', '1767225600123-ms', '2026-01-01', '2026-01-01t12-30-00z'],
    },
  },
  examples: [
    'get.1767225600.epoch.public.v1',
    'get.2026-01-01t12-30-00z.epoch.public.v1',
    'get.epoch.public.v1',
  ],
  exampleResponse:
    'v=svc1;s=ok;t=data;sec=1767225600;iso=2026-01-01T00:00:00Z;day=thursday;week=2026-W01;ts=1767225600',
  ttl: 86_400,
  errors: [],
};
