import { parseTime } from '../base/time.ts';
import { answered, type FlatFields, malformedAnswer, momentary } from './answers.ts';
import { DAY_MS, parseDate, WEEKDAYS, weekday } from './days.ts';
import { type Service, type ServiceDescription, serviceSchema } from './service.ts';

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

/** First and last second of the years 0 to 9999, which ISO 8601 writes with four digits. */
const SECONDS_MIN = -62_167_219_200;
const SECONDS_MAX = 253_402_300_799;

/** Seconds, with `d` for the decimal point and `n` for the minus sign; or milliseconds. */
const SECONDS = /^([n-]?)(0|[1-9][0-9]{0,11})(?:[d.]([0-9]{1,3}))?$/;
const MILLISECONDS = /^([n-]?)(0|[1-9][0-9]{0,14})-ms$/;
/** `2026-01-01t12-30-00z`: hyphens for colons, `d` for the point. Seconds and their fraction may be left out. */
const DATE_TIME = /^(\d{4}-\d{2}-\d{2})t(\d{2})[-:](\d{2})(?:[-:](\d{2})(?:[d.](\d{1,3}))?)?z$/;

type InstantFault = 'value' | 'date';

/** Milliseconds since the epoch of a label in lower case. */
function parseInstant(label: string): number | InstantFault {
  const seconds = SECONDS.exec(label);
  if (seconds !== null) {
    const [, sign = '', whole = '', fraction = ''] = seconds;
    return inRange(signed(sign, Number(whole) * 1000 + Number(fraction.padEnd(3, '0'))));
  }
  const milliseconds = MILLISECONDS.exec(label);
  if (milliseconds !== null) return inRange(signed(milliseconds[1]!, Number(milliseconds[2])));
  const time = DATE_TIME.exec(label);
  if (time === null) return parseDate(label) ?? (/^\d{4}-/.test(label) ? 'date' : 'value');
  const [, date, hour, minute, second = '00', fraction = '0'] = time;
  return parseTime(`${date}T${hour}:${minute}:${second}.${fraction}Z`) ?? 'date';
}

function signed(sign: string, ms: number): number {
  return sign === '' ? ms : -ms;
}

function inRange(ms: number): number | InstantFault {
  return ms >= SECONDS_MIN * 1000 && ms < (SECONDS_MAX + 1) * 1000 ? ms : 'value';
}

/** ISO 8601, UTC, with milliseconds only where there are any. */
function instantText(ms: number): string {
  return new Date(ms).toISOString().replace('.000Z', 'Z');
}

/** `2026-W01` (ISO 8601): the week, from Monday on, that holds the Thursday of this one. Weeks of the year -1: null. */
function weekText(ms: number): string | undefined {
  const day = Math.floor(ms / DAY_MS);
  // 1970-01-01 was a Thursday.
  const thursday = (day - ((((day + 3) % 7) + 7) % 7) + 3) * DAY_MS;
  const year = new Date(thursday).getUTCFullYear();
  if (year < 0 || year > 9999) return undefined;
  const first = new Date(0).setUTCFullYear(year, 0, 1);
  const week = 1 + Math.floor((thursday - first) / (7 * DAY_MS));
  return `${String(year).padStart(4, '0')}-W${String(week).padStart(2, '0')}`;
}

/** `get.[<seconds, milliseconds or ISO 8601>.]epoch.public.v1` */
export function makeEpoch(): Service {
  return {
    resource: 'epoch',
    operation: 'get',
    enabled: true,
    about: EPOCH_ABOUT,
    answer(params, now) {
      const [label] = params;
      if (label === undefined) return momentary(fieldsOf(now), now);
      if (params.length > 1) return malformedAnswer('value');
      const instant = parseInstant(label.toLowerCase());
      if (typeof instant === 'string') return malformedAnswer(instant);
      return answered(fieldsOf(instant), { ttl: EPOCH_ABOUT.ttl, now });
    },
  };
}

function fieldsOf(ms: number): FlatFields {
  return { sec: ms / 1000, iso: instantText(ms), day: weekday(ms), week: weekText(ms) };
}
