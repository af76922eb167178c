import {
  type AstroTime,
  Body,
  Equator,
  Horizon,
  KM_PER_AU,
  MakeTime,
  Observer,
  RAD2DEG,
  SearchAltitude,
  SearchHourAngle,
  SearchRiseSet,
} from 'astronomy-engine';
import { malformedAnswer } from './answers.ts';
import { answeredForDay, DAY_MS, type Day, dateText, dayOf, parseDate, secondText } from './days.ts';
import {
  isLocationFault,
  locationFault,
  PLACES_CREDIT,
  type Places,
  parseLocation,
  placeText,
} from './places/place.ts';
import { type FieldSchema, type Service, type ServiceDescription, serviceSchema } from './service.ts';

const TEXT_LENGTH = '2026-06-21T03:43:07Z'.length;
const INSTANT = '^\\d{4}-\\d{2}-\\d{2}T\\d{2}:\\d{2}:\\d{2}Z$';

function instantField(description: string, example: string): FieldSchema {
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
      rise: instantField('Upper limb appears, refraction 34 minutes of arc', '2026-06-21T03:43:07Z'),
      set: instantField('Upper limb disappears', '2026-06-21T20:21:31Z'),
      noon: instantField('Centre crosses the meridian', '2026-06-21T12:02:19Z'),
      dawn: instantField('Centre rises above -6 degrees', '2026-06-21T02:55:18Z'),
      dusk: instantField('Centre sinks below -6 degrees', '2026-06-21T21:09:19Z'),
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
  meanings: [
    {
      fields: ['state'],
      values: [
        ['normal', 'the sun rises or sets'],
        ['polarday', 'the sun stays up'],
        ['polarnight', 'the sun stays down'],
      ],
    },
  ],
};

/** The sun over one place on one day. Instants in milliseconds since the epoch; undefined for what does not happen. */
interface SunDay {
  readonly state: 'normal' | 'polarday' | 'polarnight';
  readonly noon: number;
  readonly rise: number | undefined;
  readonly set: number | undefined;
  /** Civil twilight: the sun's centre 6 degrees below the horizon. */
  readonly dawn: number | undefined;
  readonly dusk: number | undefined;
  /** Seconds of the day during which the upper limb is above the horizon. */
  readonly length: number;
}

const HOUR_MS = 3_600_000;
const DEGREES_PER_HOUR = 15;
/** The sun is never further from mean time than this, by the equation of time. */
const NOON_SPREAD_MS = HOUR_MS / 2;
const CIVIL_TWILIGHT = -6;
/** Both as `SearchRiseSet` takes them: else days on which the sun only just stays down would count as days on which it stays up. */
const REFRACTION = 34 / 60;
const SUN_RADIUS_AU = 695_700 / KM_PER_AU;

/**
 * The day is the solar one: from the midnight before to the midnight after the noon that falls on the date at the place's own
 * mean solar time. So sunrise comes before noon and sunset after it, and a date means its daylight. Near the poles the season
 * moves the sun as fast as the hour does: it rises and sets at any time there, and the first rise and the last set are told.
 * @param start the instant at which the date begins in UTC
 */
export function sunDay(lat: number, lon: number, start: number): SunDay {
  const observer = new Observer(lat, lon, 0);
  const meanNoon = start + DAY_MS / 2 - (lon / DEGREES_PER_HOUR) * HOUR_MS;
  const noon = SearchHourAngle(Body.Sun, observer, 0, time(meanNoon - NOON_SPREAD_MS), +1).time;
  const before = SearchHourAngle(Body.Sun, observer, 12, noon, -1).time;
  const after = SearchHourAngle(Body.Sun, observer, 12, noon, +1).time;
  const day = after.ut - before.ut;

  const rise = instant(SearchRiseSet(Body.Sun, observer, +1, before, day));
  const set = instant(SearchRiseSet(Body.Sun, observer, -1, after, -day));
  const state =
    rise !== undefined || set !== undefined ? 'normal' : isUp(observer, noon) ? 'polarday' : 'polarnight';
  const first = rise ?? before.date.getTime();
  const last = set ?? after.date.getTime();
  return {
    state,
    noon: noon.date.getTime(),
    rise,
    set,
    dawn: instant(SearchAltitude(Body.Sun, observer, +1, before, day, CIVIL_TWILIGHT)),
    dusk: instant(SearchAltitude(Body.Sun, observer, -1, after, -day, CIVIL_TWILIGHT)),
    length:
      state === 'polarnight' ? 0 : state === 'polarday' ? DAY_MS / 1000 : Math.round((last - first) / 1000),
  };
}

function time(ms: number): AstroTime {
  return MakeTime(new Date(ms));
}

function instant(found: AstroTime | null): number | undefined {
  return found?.date.getTime();
}

function isUp(observer: Observer, at: AstroTime): boolean {
  const { ra, dec, dist } = Equator(Body.Sun, at, observer, true, true);
  const radius = RAD2DEG * Math.asin(SUN_RADIUS_AU / dist);
  return Horizon(at, observer, ra, dec).altitude + radius > -REFRACTION;
}

/** `get.[<YYYY-MM-DD>.]<location>.sun.public.v1` */
export function makeSun(places: Places): Service {
  return {
    resource: 'sun',
    operation: 'get',
    enabled: true,
    about: SUN_ABOUT,
    work: 2,
    answer(params, now) {
      const day = params.length === 2 ? namedDay(params[0]!) : dayOf(now);
      const place = parseLocation(params.slice(-1), places);
      if (params.length > 2) return malformedAnswer('value');
      if (day === null) return malformedAnswer('date');
      if (isLocationFault(place)) return locationFault(place, now);
      const { rise, set, noon, dawn, dusk, length, state } = sunDay(place.lat, place.lon, day.start);
      if ([rise, set, noon, dawn, dusk].some(hasNoText)) return malformedAnswer('date');
      const fields = {
        loc: placeText(place),
        date: dateText(day.start),
        rise: secondText(rise),
        set: secondText(set),
        noon: secondText(noon),
        dawn: secondText(dawn),
        dusk: secondText(dusk),
        len: length,
        state,
      };
      return answeredForDay(fields, day, now);
    },
  };
}

/** An instant of the first or last solar day that is not in the years 0 to 9999, of which alone texts have a year of four digits. */
function hasNoText(ms: number | undefined): boolean {
  const text = secondText(ms);
  return text !== undefined && text.length !== TEXT_LENGTH;
}

function namedDay(text: string): Day | null {
  const start = parseDate(text);
  return start === null ? null : { start, isToday: false };
}
