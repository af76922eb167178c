import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { getTimes } from 'suncalc';
import {
  answerFields,
  askName,
  checkDescription,
  codeOf,
  NOW,
} from '../../test/support/services/check-service.ts';
import { malformedAnswer } from './answers.ts';
import { DAY_MS, parseDate } from './days.ts';
import type { Places } from './places/place.ts';
import { makeSun, SUN_ABOUT, sunDay } from './sun.ts';

const LONDON = { lat: 51.50853, lon: -0.12574, name: 'London', country: 'GB' };
const places: Places = { find: (name) => (name === 'london' ? LONDON : null) };
const sun = makeSun(places);

/**
 * Rise and Set for the Sun for 2019, U.S. Naval Observatory, Astronomical Applications Department: universal time, to the
 * minute. Latitude, longitude, date, rise, set; `+` is the day after, `*` up all day, `-` down all day.
 */
const USNO = `
  60    0  2019-01-01  0902  1505
  60    0  2019-01-15  0848  1531
  60    0  2019-02-10  0752  1637
  60    0  2019-03-20  0603  1814
  60    0  2019-04-15  0445  1917
  60    0  2019-05-10  0335  2019
  60    0  2019-06-21  0236  2128
  60    0  2019-07-20  0313  2058
  60    0  2019-08-15  0413  1954
  60    0  2019-09-23  0546  1758
  60    0  2019-10-20  0651  1638
  60    0  2019-11-15  0757  1531
  60    0  2019-12-21  0902  1454
  29  -81  2019-01-01  1218  2238
  29  -81  2019-03-20  1128  2335
  29  -81  2019-06-21  1026  0026+
  29  -81  2019-09-23  1113  2320
  29  -81  2019-12-21  1213  2231
 -60 -150  2019-01-01  1243  0723+
 -60 -150  2019-03-20  1600  0413+
 -60 -150  2019-06-21  1906  0058+
  80    0  2019-02-21  1120  1310
  80    0  2019-03-15  0641  1742
  80    0  2019-04-12  0125  2302
  80    0  2019-06-21  *     *
  80    0  2019-10-21  1103  1223
  80    0  2019-12-21  -     -
 -80 -150  2019-04-17  2111  2246
 -80 -150  2019-03-20  1546  0424+
 -80 -150  2019-06-21  -     -
 -80 -150  2019-08-25  2115  2251
 -80 -150  2019-12-21  *     *
`;

function rows(table: string): string[][] {
  return table
    .trim()
    .split('\n')
    .map((line) => line.trim().split(/\s+/));
}

/** `0026+` on a date as milliseconds. */
function instant(date: string, text: string): number {
  const minutes = Number(text.slice(0, 2)) * 60 + Number(text.slice(2, 4));
  return parseDate(date)! + minutes * 60_000 + (text.endsWith('+') ? DAY_MS : 0);
}

function assertNear(found: number | undefined, wanted: number, seconds: number, what: string): void {
  assert.ok(found !== undefined, `${what}: none`);
  assert.ok(Math.abs(found - wanted) <= seconds * 1000, `${what}: ${(found - wanted) / 1000} s off`);
}

test('within a minute of the published almanac, at low and high latitudes', () => {
  for (const [lat, lon, date, rise, set] of rows(USNO) as [string, string, string, string, string][]) {
    const day = sunDay(Number(lat), Number(lon), parseDate(date)!);
    const what = `${lat} ${lon} ${date}`;
    if (rise.length === 1) {
      assert.equal(day.state, rise === '*' ? 'polarday' : 'polarnight', what);
      assert.deepEqual([day.rise, day.set], [undefined, undefined], what);
    } else {
      assert.equal(day.state, 'normal', what);
      assertNear(day.rise, instant(date, rise), 60, `${what} rise`);
      assertNear(day.set, instant(date, set), 60, `${what} set`);
    }
  }
});

const anyDate = fc.integer({ min: 0, max: 50 * 365 }).map((days) => Date.UTC(1990, 0, 1) + days * DAY_MS);
const anyLon = fc.integer({ min: -1800, max: 1800 }).map((tenths) => tenths / 10);

test('property: agrees with suncalc', () => {
  const lats = fc.integer({ min: -600, max: 600 }).map((tenths) => tenths / 10);
  fc.assert(
    fc.property(lats, anyLon, anyDate, (lat, lon, start) => {
      const day = sunDay(lat, lon, start);
      const times = getTimes(new Date(day.noon), lat, lon);
      assertNear(day.noon, times.solarNoon.getTime(), 10, 'noon');
      assertNear(day.rise, times.sunrise!.getTime(), 30, 'rise');
      assertNear(day.set, times.sunset!.getTime(), 30, 'set');
      if (Math.abs(lat) > 55) return;
      assertNear(day.dawn, times.dawn!.getTime(), 30, 'dawn');
      assertNear(day.dusk, times.dusk!.getTime(), 30, 'dusk');
    }),
    { numRuns: 150 },
  );
});

test('property: what is told of a day fits together, at any latitude', () => {
  const lats = fc.integer({ min: -900, max: 900 }).map((tenths) => tenths / 10);
  fc.assert(
    fc.property(lats, anyLon, anyDate, (lat, lon, start) => {
      const day = sunDay(lat, lon, start);
      assert.ok(day.noon > start - 20 * 60_000 && day.noon < start + DAY_MS + 20 * 60_000);
      const order = [day.dawn, day.rise, day.noon, day.set, day.dusk].filter((at) => at !== undefined);
      assert.deepEqual(
        order,
        [...order].sort((a, b) => a - b),
      );
      assert.equal(day.state === 'normal', day.rise !== undefined || day.set !== undefined);
      assert.ok(day.length >= 0 && day.length <= 90_000);
    }),
    { numRuns: 150 },
  );
});

test('the day that begins with a sunrise and has no sunset, and the poles', () => {
  const before = sunDay(69.65, 18.96, Date.UTC(2026, 4, 18));
  assert.ok(before.rise !== undefined && before.set === undefined && before.state === 'normal');
  const after = sunDay(69.65, 18.96, Date.UTC(2026, 6, 25));
  assert.ok(after.rise === undefined && after.set !== undefined && after.state === 'normal');
  assert.equal(sunDay(90, 0, Date.UTC(2026, 5, 21)).state, 'polarday');
  assert.equal(sunDay(-90, 0, Date.UTC(2026, 5, 21)).state, 'polarnight');
});

test('a pole has one sunrise and one sunset a year, at whatever hour, and no day of the other kind between', () => {
  for (const lat of [90, -90]) {
    for (const lon of [-180, -77.3, 0, 123]) {
      const days = Array.from({ length: 365 }, (_, day) => sunDay(lat, lon, Date.UTC(2026, 0, 1 + day)));
      const states = days.map(({ state }) => state).filter((state, at, all) => state !== all[at - 1]);
      const [first, other] = lat > 0 ? ['polarnight', 'polarday'] : ['polarday', 'polarnight'];
      assert.deepEqual(states, [first, 'normal', other, 'normal', first], `${lat} ${lon}`);
      assert.equal(days.filter(({ rise }) => rise !== undefined).length, 1, `${lat} ${lon}`);
      assert.equal(days.filter(({ set }) => set !== undefined).length, 1, `${lat} ${lon}`);
    }
  }
});

test('a sunrise after noon near a pole is told, and six minutes of sun are not half a day', () => {
  const { rise, noon, set, length } = sunDay(-82.3, 0, Date.UTC(2026, 7, 31));
  assert.ok(rise !== undefined && set !== undefined && noon < rise && rise < set);
  assert.ok(length < 15 * 60);
});

test('no day of the polar night is a polar day, where the sun only just stays down', () => {
  for (const [lat, date] of [
    [-69.2, '2026-07-14'],
    [-72.4, '2026-07-30'],
    [-74.5, '2026-08-07'],
    [-78.2, '2026-04-23'],
  ] as const) {
    const { state, length } = sunDay(lat, 0, parseDate(date)!);
    assert.deepEqual([state, length], ['polarnight', 0], date);
  }
});

test('a solar day that begins or ends outside the years 0 to 9999 is no date', async () => {
  for (const [date, east, west] of [
    ['0000-01-01', '0_180', '0_-180'],
    ['9999-12-31', '0_-180', '0_180'],
  ] as const) {
    assert.deepEqual(await sun.answer([date, east], NOW), malformedAnswer('date'), date);
    const { rise, set } = answerFields(await sun.answer([date, west], NOW), SUN_ABOUT);
    assert.ok(String(rise).length === 20 && String(set).length === 20, date);
  }
});

test('its description holds, and its examples answer', async () => {
  checkDescription(sun);
  for (const name of SUN_ABOUT.examples) answerFields(await askName(sun, name), SUN_ABOUT);
  const first = await askName(sun, SUN_ABOUT.examples[0]);
  assert.ok(first.kind === 'answer');
  assert.equal(Buffer.from(first.text).toString(), SUN_ABOUT.exampleResponse);
});

test('the answer names its place, before the date (finding H1 of the second review)', async () => {
  const named = answerFields(await sun.answer(['2026-06-21', 'london'], NOW), SUN_ABOUT);
  assert.deepEqual(Object.keys(named).slice(Object.keys(named).indexOf('loc')).slice(0, 2), ['loc', 'date']);
  assert.equal(named.loc, 'London, GB');
  assert.equal(answerFields(await sun.answer(['51d5_-0d1'], NOW), SUN_ABOUT).loc, '51.5_-0.1');
});

test('labels', async () => {
  const table: [params: string[], kind: string, code: string | null][] = [
    [['london'], 'answer', null],
    [['51d5_-0d1'], 'answer', null],
    [['-90_180'], 'answer', null],
    [['90_-180'], 'answer', null],
    [['2026-06-21', 'london'], 'answer', null],
    [['2024-02-29', 'london'], 'answer', null],
    [['0000-01-01', 'london'], 'answer', null],
    [['9999-12-31', 'london'], 'answer', null],
    [['atlantis'], 'answer', 'E004'],
    [[], 'malformed', null],
    [['2026-06-21'], 'answer', 'E004'],
    [['2026-02-29', 'london'], 'malformed', null],
    [['2026-6-21', 'london'], 'malformed', null],
    [['20260621', 'london'], 'malformed', null],
    [['london', '2026-06-21'], 'malformed', null],
    [['2026-06-21', '2026-06-21', 'london'], 'malformed', null],
    [['90d1_0'], 'malformed', null],
    [['0_180d1'], 'malformed', null],
    [['0_-181'], 'malformed', null],
    [['1_2_3'], 'malformed', null],
    [['me'], 'malformed', null],
    [['my-location'], 'malformed', null],
    [['ip-8-8-8-8'], 'malformed', null],
  ];
  for (const [params, kind, code] of table) {
    const outcome = await sun.answer(params, NOW);
    assert.equal(outcome.kind, kind, params.join('.'));
    assert.equal(codeOf(outcome), code, params.join('.'));
  }
});

test('TTL: a day for a date; for today an hour, then what is left of it', async () => {
  const midnight = NOW + DAY_MS;
  const table: [params: string[], now: number, ttl: number, until: number][] = [
    [['2026-06-21', 'london'], NOW, 86_400, NOW + DAY_MS],
    [['london'], NOW, 3600, midnight - 3_600_000 + 1],
    [['london'], midnight - 3_600_000, 3600, midnight - 3_600_000 + 1],
    [['london'], midnight - 3_599_999, 3599, midnight - 3_599_000 + 1],
    [['london'], midnight - 1500, 1, midnight - 999],
    [['london'], midnight - 1, 0, midnight],
    [['london'], midnight, 3600, midnight + DAY_MS - 3_600_000 + 1],
  ];
  for (const [params, now, ttl, until] of table) {
    const outcome = await sun.answer(params, now);
    assert.ok(outcome.kind === 'answer');
    assert.deepEqual([outcome.ttl, outcome.until], [ttl, until], `${params.join('.')} ${now}`);
  }
  const today = answerFields(await sun.answer(['london'], midnight - 1), SUN_ABOUT);
  const tomorrow = answerFields(await sun.answer(['london'], midnight), SUN_ABOUT);
  assert.deepEqual([today.date, tomorrow.date], ['2026-01-01', '2026-01-02']);
});
