import { Body, Illumination, MakeTime, MoonPhase, SearchMoonPhase } from 'astronomy-engine';
import { malformedAnswer, rounded } from './answers.ts';
import { answeredForDay, DAY_MS, dateText, dayOf, parseDate } from './days.ts';
import { type Service, type ServiceDescription, serviceSchema } from './service.ts';

/** In order from new moon. Even indexes are instants, odd ones the time between. */
export const PHASES = [
  'new',
  'waxing-crescent',
  'first-quarter',
  'waxing-gibbous',
  'full',
  'waning-gibbous',
  'last-quarter',
  'waning-crescent',
] as const;
type Phase = (typeof PHASES)[number];

interface MoonDay {
  /** The principal phase whose instant is on this UTC date, as in almanacs; else the phase between. */
  readonly phase: Phase;
  /** Lit part of the disc at 12:00 UTC, percent. */
  readonly illumination: number;
  /** Days since the new moon, at 12:00 UTC. */
  readonly age: number;
}

const QUARTER = 90;
/** An upper bound for the time between new moons. */
const LUNATION_DAYS = 31;

/** `start`: the start of the date in UTC. */
export function moonDay(start: number): MoonDay {
  const midday = MakeTime(new Date(start + DAY_MS / 2));
  const before = Math.floor(MoonPhase(new Date(start)) / QUARTER);
  const after = Math.floor(MoonPhase(new Date(start + DAY_MS)) / QUARTER);
  // The moon gains 12 degrees on the sun per day, so it passes at most one quarter.
  const phase = before === after ? PHASES[2 * before + 1]! : PHASES[2 * after]!;
  const lastNew = SearchMoonPhase(0, midday, -LUNATION_DAYS)!;
  return {
    phase,
    illumination: Illumination(Body.Moon, midday).phase_fraction * 100,
    age: midday.ut - lastNew.ut,
  };
}

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

/** `get.[<YYYY-MM-DD>.]moon.public.v1` */
export function makeMoon(): Service {
  return {
    resource: 'moon',
    operation: 'get',
    enabled: true,
    about: MOON_ABOUT,
    work: 1,
    answer(params, now) {
      const [date] = params;
      const start = date === undefined ? null : parseDate(date);
      if (params.length > 1 || (date !== undefined && start === null)) return malformedAnswer('date');
      const day = start === null ? dayOf(now) : { start, isToday: false };
      const { phase, illumination, age } = moonDay(day.start);
      const fields = {
        date: dateText(day.start),
        phase,
        illum: rounded(illumination, 1),
        age: rounded(age, 2),
      };
      return answeredForDay(fields, day, now);
    },
  };
}
