import {
  type AstroTime,
  Body,
  Equator,
  Horizon,
  MakeTime,
  Observer,
  SearchAltitude,
  SearchHourAngle,
  SearchRiseSet,
} from 'astronomy-engine';
import { DAY_MS } from '../days.ts';

/** The sun over one place on one day. Instants in milliseconds since the epoch; undefined for what does not happen. */
export interface SunDay {
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
/** Altitude of the sun's centre when its upper limb is at the horizon: refraction 34' and radius 16', the almanacs' values. */
const HORIZON = -50 / 60;

/**
 * The day is the solar one: from the midnight before to the midnight after the noon that falls on the date at the place's own
 * mean solar time. So sunrise comes before noon and sunset after it, wherever the place is, and a date means its daylight.
 * @param start the instant at which the date begins in UTC
 */
export function sunDay(lat: number, lon: number, start: number): SunDay {
  const observer = new Observer(lat, lon, 0);
  const meanNoon = start + DAY_MS / 2 - (lon / DEGREES_PER_HOUR) * HOUR_MS;
  const noon = SearchHourAngle(Body.Sun, observer, 0, time(meanNoon - NOON_SPREAD_MS), +1).time;
  const before = SearchHourAngle(Body.Sun, observer, 12, noon, -1).time;
  const after = SearchHourAngle(Body.Sun, observer, 12, noon, +1).time;
  const morning = before.ut - noon.ut;
  const evening = after.ut - noon.ut;

  const rise = instant(SearchRiseSet(Body.Sun, observer, +1, noon, morning));
  const set = instant(SearchRiseSet(Body.Sun, observer, -1, noon, evening));
  const state =
    rise !== undefined || set !== undefined ? 'normal' : isUp(observer, noon) ? 'polarday' : 'polarnight';
  const first = rise ?? before.date.getTime();
  const last = set ?? after.date.getTime();
  return {
    state,
    noon: noon.date.getTime(),
    rise,
    set,
    dawn: instant(SearchAltitude(Body.Sun, observer, +1, noon, morning, CIVIL_TWILIGHT)),
    dusk: instant(SearchAltitude(Body.Sun, observer, -1, noon, evening, CIVIL_TWILIGHT)),
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
  const { ra, dec } = Equator(Body.Sun, at, observer, true, true);
  return Horizon(at, observer, ra, dec).altitude > HORIZON;
}
