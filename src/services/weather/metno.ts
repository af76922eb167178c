import { call, join, timeOf } from '../providers/sources/call.ts';
import { at, jsonOf, within } from '../providers/sources/parse.ts';
import { type Source, type SourceContext, unusable } from '../providers/sources/source.ts';
import { CELSIUS_MAX, CELSIUS_MIN, cellOf, DAYS, type Day, type Meteo } from './meteo.ts';

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
 * four decimals, no request before `Expires`, then `If-Modified-Since`.
 */
export function metno(base: string, { outbound, agent }: SourceContext): Source<Meteo> {
  return {
    name: 'metno',
    // All installations share 20 calls per second: this one uses a tenth.
    limits: [{ calls: 20, perMs: 10_000 }],
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

export interface Forecast {
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
