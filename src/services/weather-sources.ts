import { rounded } from './answers.ts';
import type { Place } from './places/place.ts';
import {
  at,
  call,
  dateOf,
  join,
  jsonOf,
  type Source,
  type SourceContext,
  timeOf,
  unusable,
  within,
} from './providers/source.ts';

/** One day, in the time zone of the place. */
interface Day {
  readonly date: string;
  /** Degrees Celsius; `low` too. */
  readonly high: number;
  readonly low: number;
  /** Weather code of WMO table 4677, 0 to 99. */
  readonly code: number;
  /** Chance of rain, percent; null where the source does not report it. */
  readonly rain: number | null;
}

/** The weather of a grid cell, for `weather` and `forecast`. */
export interface Meteo {
  /** Degrees Celsius, now. */
  readonly celsius: number;
  /** `DAYS` of them, today first. */
  readonly days: readonly Day[];
}

export const DAYS = 3;

/** Degrees Celsius. Temperatures outside these bounds are faults of the source. */
const CELSIUS_MIN = -100;
const CELSIUS_MAX = 70;

/** Cells per degree. */
export const GRID = 10;

/** Centre of a grid cell, degrees. */
interface Cell {
  readonly lat: number;
  readonly lon: number;
}

/** The key of the 0.1 degree grid cell of a place: `407_-740`. */
export function cellKey({ lat, lon }: Pick<Place, 'lat' | 'lon'>): string {
  const row = Math.round(lat * GRID);
  const column = Math.round(lon * GRID);
  // 180 degrees west and east are one meridian.
  return `${row}_${column === -180 * GRID ? 180 * GRID : column}`;
}

export function cellOf(key: string): Cell {
  const [row, column] = key.split('_');
  return { lat: Number(row) / GRID, lon: Number(column) / GRID };
}

/** Degrees Fahrenheit, rounded to 0.1. */
export function fahrenheit(celsius: number): number {
  return rounded((celsius * 9) / 5 + 32, 1);
}

const LOCAL_TIME = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}(?::\d{2})?$/;
/** Largest offset of a time zone from UTC, seconds. */
const OFFSET_MAX = 86_400;
const DAILY = 'weather_code,temperature_2m_max,temperature_2m_min,precipitation_probability_max';

/** Open-Meteo, `/v1/forecast`. Free for non-commercial use, CC BY 4.0. */
export function openMeteo(base: string, { outbound, agent }: SourceContext): Source<Meteo> {
  return {
    name: 'openmeteo',
    limits: [
      { calls: 600, perMs: 60_000 },
      { calls: 5000, perMs: 3_600_000 },
      { calls: 10_000, perMs: 86_400_000 },
    ],
    async load(key, _validator, now) {
      const { lat, lon } = cellOf(key);
      const asked = `latitude=${lat}&longitude=${lon}&current=temperature_2m&daily=${DAILY}`;
      const url = join(base, `/v1/forecast?${asked}&forecast_days=${DAYS}&timezone=auto`);
      const called = await call(url, { outbound, agent, now });
      if (called.kind !== 'body') return called.kind === 'unchanged' ? { kind: 'failed' } : called;
      const data = jsonOf(called.text);
      const value = parseOpenMeteo(data);
      return value === null ? unusable(data) : { kind: 'value', value, time: currentTime(data) };
    },
  };
}

/** Null when a part is missing or out of range. */
export function parseOpenMeteo(data: unknown): Meteo | null {
  const celsius = within(at(data, 'current', 'temperature_2m'), CELSIUS_MIN, CELSIUS_MAX);
  if (celsius === null) return null;
  const days: Day[] = [];
  for (let i = 0; i < DAYS; i++) {
    const day = dayAt(at(data, 'daily'), i);
    if (day === null) return null;
    days.push(day);
  }
  return { celsius, days };
}

/** Time of `current`, which is local time without an offset; undefined when invalid. */
export function currentTime(data: unknown): number | undefined {
  const text = at(data, 'current', 'time');
  const offset = within(at(data, 'utc_offset_seconds'), -OFFSET_MAX, OFFSET_MAX);
  if (typeof text !== 'string' || !LOCAL_TIME.test(text) || offset === null) return undefined;
  const time = Date.parse(`${text}Z`) - offset * 1000;
  return Number.isNaN(time) ? undefined : time;
}

/** The `i`th members of the parallel arrays. */
function dayAt(daily: unknown, i: number): Day | null {
  const date = dateOf(at(daily, 'time', i));
  const high = within(at(daily, 'temperature_2m_max', i), CELSIUS_MIN, CELSIUS_MAX);
  const low = within(at(daily, 'temperature_2m_min', i), CELSIUS_MIN, CELSIUS_MAX);
  const code = within(at(daily, 'weather_code', i), 0, 99);
  const rain = within(at(daily, 'precipitation_probability_max', i), 0, 100);
  if (date === null || high === null || low === null || code === null) return null;
  return { date, high, low, code: Math.round(code), rain: rain === null ? null : Math.round(rain) };
}

/** MET Norway's symbols, without time of day and thunder, as codes of WMO table 4677 that Open-Meteo also uses. */
const CODES: ReadonlyMap<string, number> = new Map(
  Object.entries({
    clearsky: 0,
    fair: 1,
    partlycloudy: 2,
    cloudy: 3,
    fog: 45,
    lightrain: 61,
    rain: 63,
    heavyrain: 65,
    lightrainshowers: 80,
    rainshowers: 81,
    heavyrainshowers: 82,
    lightsleet: 68,
    sleet: 69,
    heavysleet: 69,
    lightsleetshowers: 83,
    sleetshowers: 84,
    heavysleetshowers: 84,
    lightsnow: 71,
    snow: 73,
    heavysnow: 75,
    lightsnowshowers: 85,
    snowshowers: 85,
    heavysnowshowers: 86,
  }),
);

const THUNDERSTORM = 95;
const TIME_OF_DAY = /_(?:day|night|polartwilight)$/;
const THUNDER = /andthunder$/;

export function wmoCode(symbol: unknown): number | null {
  if (typeof symbol !== 'string') return null;
  // Two names have an extra `s`: lightssleetshowersandthunder, lightssnowshowersandthunder.
  const name = symbol.replace(TIME_OF_DAY, '').replace('lightss', 'lights');
  const base = name.replace(THUNDER, '');
  const code = CODES.get(base) ?? null;
  return code !== null && base !== name ? THUNDERSTORM : code;
}

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
const NOON = 12;

interface Step {
  /** Milliseconds since the epoch. */
  readonly time: number;
  readonly celsius: number;
  /** Weather code of the hours that follow; null if missing. */
  readonly code: number | null;
}

/**
 * MET Norway, Locationforecast 2.0 `compact` (NLOD 2.0, CC BY 4.0). Its terms: an identifying `User-Agent`, at most
 * four decimals, no request before `Expires`, then `If-Modified-Since` (within the hour that was read).
 */
export function metno(base: string, { outbound, agent }: SourceContext): Source<Meteo> {
  return {
    name: 'metno',
    // All installations share 20 calls per second: this one uses a tenth.
    limits: [{ calls: 20, perMs: 10_000 }],
    // Each hour has its temperature, and with one of them a day ends.
    stepMs: HOUR_MS,
    async load(key, validator, now) {
      const { lat, lon } = cellOf(key);
      const url = join(base, `/weatherapi/locationforecast/2.0/compact?lat=${lat}&lon=${lon}`);
      const headers: Record<string, string> = validator === null ? {} : { 'if-modified-since': validator };
      const called = await call(url, { outbound, agent, now, headers });
      if (called.kind === 'unchanged')
        return { kind: 'unchanged', notBefore: timeOf(called.headers.expires) };
      if (called.kind !== 'body') return called;
      const data = jsonOf(called.text);
      const parsed = parseMetno(data, now);
      if (parsed === null) return unusable(data);
      const modified = called.headers['last-modified'];
      return {
        kind: 'value',
        ...parsed,
        notBefore: timeOf(called.headers.expires),
        validator: timeOf(modified) === undefined ? undefined : (modified as string),
      };
    },
  };
}

interface Forecast {
  readonly value: Meteo;
  /** Time of the current step, milliseconds since the epoch. */
  readonly time: number;
}

/** The current step is the last one that has started. Days are UTC, because the source has no time zones. Null if invalid. */
export function parseMetno(data: unknown, now: number): Forecast | null {
  const series = at(data, 'properties', 'timeseries');
  if (!Array.isArray(series)) return null;
  const steps = series.map(stepOf).filter((step) => step !== null);
  const begun = steps.filter(({ time }) => time <= now).at(-1) ?? steps[0];
  if (begun === undefined || Math.abs(begun.time - now) > DAY_MS) return null;
  const today = Math.floor(now / DAY_MS);
  const days: Day[] = [];
  for (let day = today; day < today + DAYS; day++) {
    const dayStart = day * DAY_MS;
    const inDay = steps.filter(({ time }) => time >= dayStart && time < dayStart + DAY_MS);
    // In the last minutes of a day only the current step is left.
    const summary = summarise(inDay.length === 0 && day === today ? [begun] : inDay, day, dayStart);
    if (summary === null) return null;
    days.push(summary);
  }
  return { value: { celsius: begun.celsius, days }, time: begun.time };
}

function summarise(steps: readonly Step[], day: number, dayStart: number): Day | null {
  const noon = dayStart + NOON * HOUR_MS;
  const coded = steps
    .filter(({ code }) => code !== null)
    .toSorted((a, b) => Math.abs(a.time - noon) - Math.abs(b.time - noon));
  const code = coded[0]?.code ?? null;
  if (code === null) return null;
  const celsius = steps.map((step) => step.celsius);
  return {
    date: new Date(day * DAY_MS).toISOString().slice(0, 10),
    high: Math.max(...celsius),
    low: Math.min(...celsius),
    code,
    // The compact form has no chance of rain.
    rain: null,
  };
}

function stepOf(value: unknown): Step | null {
  const text = at(value, 'time');
  const time = typeof text === 'string' ? Date.parse(text) : Number.NaN;
  const celsius = within(
    at(value, 'data', 'instant', 'details', 'air_temperature'),
    CELSIUS_MIN,
    CELSIUS_MAX,
  );
  if (Number.isNaN(time) || celsius === null) return null;
  const symbol = ['next_6_hours', 'next_1_hours', 'next_12_hours']
    .map((hours) => wmoCode(at(value, 'data', hours, 'summary', 'symbol_code')))
    .find((code) => code !== null);
  return { time, celsius, code: symbol ?? null };
}
