import { call, join } from '../providers/sources/call.ts';
import { at, dateOf, jsonOf, within } from '../providers/sources/parse.ts';
import { type Source, type SourceContext, unusable } from '../providers/sources/source.ts';
import { CELSIUS_MAX, CELSIUS_MIN, cellOf, DAYS, type Day, type Meteo } from './meteo.ts';

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
