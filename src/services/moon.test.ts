import assert from 'node:assert/strict';
import { test } from 'node:test';
import { SearchMoonPhase } from 'astronomy-engine';
import { getMoonIllumination } from 'suncalc';
import { answerFields, askName, checkDescription, NOW } from '../../test/support/services/check-service.ts';
import { DAY_MS, dateText } from './days.ts';
import { MOON_ABOUT, makeMoon, moonDay, PHASES } from './moon.ts';

const moon = makeMoon();

/** Phases of the Moon in 2020, U.S. Naval Observatory: universal time, to the minute. */
const USNO_2020 = `
  first-quarter 01-03 04:45   full 01-10 19:21   last-quarter 01-17 12:58   new 01-24 21:42
  first-quarter 02-02 01:42   full 02-09 07:33   last-quarter 02-15 22:17   new 02-23 15:32
  first-quarter 03-02 19:57   full 03-09 17:48   last-quarter 03-16 09:34   new 03-24 09:28
  first-quarter 04-01 10:21   full 04-08 02:35   last-quarter 04-14 22:56   new 04-23 02:26
  first-quarter 04-30 20:38   full 05-07 10:45   last-quarter 05-14 14:03   new 05-22 17:39
  first-quarter 05-30 03:30   full 06-05 19:12   last-quarter 06-13 06:24   new 06-21 06:41
  first-quarter 06-28 08:16   full 07-05 04:44   last-quarter 07-12 23:29   new 07-20 17:33
  first-quarter 07-27 12:32   full 08-03 15:59   last-quarter 08-11 16:45   new 08-19 02:42
  first-quarter 08-25 17:58   full 09-02 05:22   last-quarter 09-10 09:26   new 09-17 11:00
  first-quarter 09-24 01:55   full 10-01 21:05   last-quarter 10-10 00:39   new 10-16 19:31
  first-quarter 10-23 13:23   full 10-31 14:49   last-quarter 11-08 13:46   new 11-15 05:07
  first-quarter 11-22 04:45   full 11-30 09:30   last-quarter 12-08 00:36   new 12-14 16:16
  first-quarter 12-21 23:41   full 12-30 03:28
`;

const published = [...USNO_2020.matchAll(/([a-z-]+) (\d\d-\d\d) (\d\d:\d\d)/g)].map(
  ([, phase, date, time]) => ({ phase: phase!, at: Date.parse(`2020-${date}T${time}Z`) }),
);

test('a year of published phases: each on its date, within two minutes, and on no other date', () => {
  assert.equal(published.length, 50);
  const byDate = new Map(published.map(({ phase, at }) => [dateText(at), phase]));
  for (let start = Date.UTC(2020, 0, 1); start < Date.UTC(2021, 0, 1); start += DAY_MS) {
    const { phase } = moonDay(start);
    const principal = byDate.get(dateText(start));
    if (principal !== undefined) assert.equal(phase, principal, dateText(start));
    else assert.match(phase, /^(waxing|waning)-/, dateText(start));
  }
  for (const { phase, at } of published) {
    const angle = (PHASES.indexOf(phase as (typeof PHASES)[number]) / 2) * 90;
    const found = SearchMoonPhase(angle, new Date(at - DAY_MS), 2)!.date.getTime();
    assert.ok(Math.abs(found - at) <= 120_000, `${phase} ${dateText(at)}: ${(found - at) / 1000} s off`);
  }
});

test('the eight phases follow each other', () => {
  let last = moonDay(Date.UTC(2026, 0, 1)).phase;
  for (let start = Date.UTC(2026, 0, 2); start < Date.UTC(2028, 0, 1); start += DAY_MS) {
    const { phase, age, illumination } = moonDay(start);
    const step = (PHASES.indexOf(phase) - PHASES.indexOf(last) + 8) % 8;
    assert.ok(step <= 1, `${dateText(start)}: ${last}, ${phase}`);
    assert.ok(age >= 0 && age < 30 && illumination >= 0 && illumination <= 100);
    last = phase;
  }
});

test('illumination agrees with suncalc', () => {
  for (let start = Date.UTC(2026, 0, 1); start < Date.UTC(2027, 0, 1); start += 3 * DAY_MS) {
    const { fraction } = getMoonIllumination(new Date(start + DAY_MS / 2));
    assert.ok(Math.abs(moonDay(start).illumination - fraction * 100) < 0.5, dateText(start));
  }
});

test('age: days since the published new moon', () => {
  // 2020-01-24T21:42Z to noon of the 30th.
  assert.ok(Math.abs(moonDay(Date.UTC(2020, 0, 30)).age - 5.596) < 0.002);
});

test('its description holds, and its examples answer', async () => {
  checkDescription(moon);
  for (const name of MOON_ABOUT.examples) answerFields(await askName(moon, name), MOON_ABOUT);
  const first = await askName(moon, MOON_ABOUT.examples[0]);
  assert.ok(first.kind === 'answer');
  assert.equal(Buffer.from(first.text).toString(), MOON_ABOUT.exampleResponse);
});

test('dates are strict', async () => {
  for (const date of ['2026-03-03', '2024-02-29', '2000-02-29', '0001-01-01', '9999-12-31']) {
    assert.equal(answerFields(await moon.answer([date], NOW), MOON_ABOUT).date, date);
  }
  for (const date of [
    '',
    '2026-02-29',
    '1900-02-29',
    '2026-13-01',
    '2026-00-01',
    '2026-01-00',
    '2026-04-31',
    '2026-1-1',
    '26-01-01',
    '20260101',
    '12026-01-01',
    '2026-01-01z',
    '2026-01-01t00',
    'today',
    'tomorrow',
    '٢٠٢٦-٠١-٠١',
  ]) {
    assert.equal((await moon.answer([date], NOW)).kind, 'malformed', date);
  }
  assert.equal((await moon.answer(['2026-01-01', '2026-01-01'], NOW)).kind, 'malformed');
});

test('without a date: today in UTC, until midnight', async () => {
  const late = NOW + DAY_MS - 1000;
  const outcome = await moon.answer([], late);
  assert.ok(outcome.kind === 'answer');
  assert.deepEqual([outcome.ttl, outcome.until], [1, late + 1]);
  assert.equal(answerFields(outcome, MOON_ABOUT).date, '2026-01-01');
  const named = await moon.answer(['2026-01-01'], late);
  assert.ok(named.kind === 'answer');
  assert.deepEqual([named.ttl, named.until], [86_400, late + DAY_MS]);
});
