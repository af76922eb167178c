import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import fc from 'fast-check';
import { answerFields, askName, codeOf, NOW } from '../../test/support/services/check-service.ts';
import { WEEKDAYS } from './days.ts';
import { openPlaces } from './places/table.ts';
import { makeTime, nextChange, offsetAt, TIME_ABOUT, ZONE_NAMES, zoneOfLabel } from './time.ts';

const time = makeTime(openPlaces());

async function isoOf(label: string, at: string): Promise<unknown> {
  return answerFields(await time.answer([label], Date.parse(at)), TIME_ABOUT).iso;
}

test('the first example is answered as described', async () => {
  const outcome = await askName(time, TIME_ABOUT.examples[0]);
  assert.ok(outcome.kind === 'answer');
  assert.equal(Buffer.from(outcome.text).toString(), TIME_ABOUT.exampleResponse);
  assert.deepEqual([outcome.ttl, outcome.until], [0, 0], 'no cache keeps it');
});

test('cities and zones, with whole, half and quarter hours, on both sides of UTC and of midnight', async () => {
  for (const [label, at, iso] of [
    ['london', '2026-07-01T12:00:00.999Z', '2026-07-01T13:00:00+01:00'],
    ['london-ontario', '2026-01-01T00:00:00Z', '2025-12-31T19:00:00-05:00'],
    ['kathmandu', '2026-01-01T00:00:00Z', '2026-01-01T05:45:00+05:45'],
    ['asia-kolkata', '2026-01-01T00:00:00Z', '2026-01-01T05:30:00+05:30'],
    ['america-st-johns', '2026-01-01T00:00:00Z', '2025-12-31T20:30:00-03:30'],
    ['pacific-kiritimati', '2026-01-01T00:00:00Z', '2026-01-01T14:00:00+14:00'],
    ['pacific-marquesas', '2026-01-01T00:00:00Z', '2025-12-31T14:30:00-09:30'],
    ['america-argentina-buenos-aires', '2026-01-01T00:00:00Z', '2025-12-31T21:00:00-03:00'],
    ['america-port-au-prince', '2026-01-01T00:00:00Z', '2025-12-31T19:00:00-05:00'],
    ['us-east-indiana', '2026-01-01T00:00:00Z', '2025-12-31T19:00:00-05:00'],
    ['utc', '2024-02-29T23:59:59Z', '2024-02-29T23:59:59+00:00'],
    // As b32- and hex- labels hold them.
    ['Europe/Berlin', '2026-01-01T00:00:00Z', '2026-01-01T01:00:00+01:00'],
    ['America/New_York', '2026-01-01T00:00:00Z', '2025-12-31T19:00:00-05:00'],
    ['東京', '2026-01-01T00:00:00Z', '2026-01-01T09:00:00+09:00'],
  ] as const) {
    assert.equal(await isoOf(label, at), iso, label);
  }
});

test('the hour that is left out, the hour that comes twice, and half an hour on Lord Howe Island', async () => {
  for (const [label, at, iso] of [
    ['europe-berlin', '2026-03-29T00:59:59Z', '2026-03-29T01:59:59+01:00'],
    ['europe-berlin', '2026-03-29T01:00:00Z', '2026-03-29T03:00:00+02:00'],
    ['europe-berlin', '2026-10-25T00:59:59Z', '2026-10-25T02:59:59+02:00'],
    ['europe-berlin', '2026-10-25T01:00:00Z', '2026-10-25T02:00:00+01:00'],
    ['australia-lord-howe', '2026-04-04T14:59:59Z', '2026-04-05T01:59:59+11:00'],
    ['australia-lord-howe', '2026-04-04T15:00:00Z', '2026-04-05T01:30:00+10:30'],
  ] as const) {
    assert.equal(await isoOf(label, at), iso, at);
  }
});

test('the next change of the clocks: its second, the offset after it, and none where there is none', async () => {
  const asked = async (label: string, at: string): Promise<readonly unknown[]> => {
    const { chg, chgoff } = answerFields(await time.answer([label], Date.parse(at)), TIME_ABOUT);
    return [chg, chgoff];
  };
  for (const [label, at, wanted] of [
    ['london', '2026-01-01T00:00:00Z', ['2026-03-29T01:00:00Z', 3600]],
    ['london', '2026-03-29T00:59:59.999Z', ['2026-03-29T01:00:00Z', 3600]],
    ['london', '2026-03-29T01:00:00Z', ['2026-10-25T01:00:00Z', 0]],
    // Asked for an earlier time afterwards.
    ['london', '2026-01-01T00:00:00Z', ['2026-03-29T01:00:00Z', 3600]],
    ['america-new-york', '2026-01-01T00:00:00Z', ['2026-03-08T07:00:00Z', -14_400]],
    ['sydney', '2026-01-01T00:00:00Z', ['2026-04-04T16:00:00Z', 36_000]],
    ['asia-tokyo', '2026-01-01T00:00:00Z', [undefined, undefined]],
    ['utc', '2026-01-01T00:00:00Z', [undefined, undefined]],
  ] as const) {
    assert.deepEqual(await asked(label, at), wanted, `${label} ${at}`);
  }
});

/** Seconds east of UTC, by the engine's own text: `GMT+05:45`. */
function offsetOfEngine(zone: string, at: number): number {
  const format = new Intl.DateTimeFormat('en-US', { timeZone: zone, timeZoneName: 'longOffset' });
  const text = format.formatToParts(at).find(({ type }) => type === 'timeZoneName')?.value ?? '';
  const [, sign, hours, minutes] = /^GMT(?:([+-])(\d\d):(\d\d))?$/.exec(text) ?? assert.fail(text);
  return (sign === '-' ? -60 : 60) * (Number(hours ?? 0) * 60 + Number(minutes ?? 0)) || 0;
}

test('property: of any zone at any time, the local time less its offset is that time', async () => {
  const zones = fc.constantFrom(...ZONE_NAMES);
  const times = fc.integer({ min: Date.UTC(2000, 0, 1), max: Date.UTC(2060, 0, 1) });
  await fc.assert(
    fc.asyncProperty(
      zones,
      times,
      fc.double({ min: 0, max: 0.999, noNaN: true }),
      async (zone, at, share) => {
        const { iso, day, off, zone: said } = answerFields(await time.answer([zone], at), TIME_ABOUT);
        assert.equal(said, zone);
        const second = Math.floor(at / 1000);
        assert.equal(Date.parse(String(iso)) / 1000, second);
        assert.equal(day, WEEKDAYS[new Date((second + Number(off)) * 1000).getUTCDay()]);
        assert.equal(off, offsetOfEngine(zone, at));
        const change = nextChange(zone, at);
        if (change === null) return;
        assert.ok(change.at > at && change.offset !== off);
        assert.equal(offsetOfEngine(zone, change.at - 1000), off);
        assert.equal(offsetOfEngine(zone, change.at), change.offset);
        // A time in between is answered from memory, the change itself by another search.
        const between = at + Math.floor((change.at - at) * share);
        assert.equal(offsetAt(zone, between), offsetOfEngine(zone, between));
        assert.equal(offsetAt(zone, change.at), change.offset);
      },
    ),
    { numRuns: 150 },
  );
});

test('no zone is searched again while its offset stays, however many others are asked for', (t) => {
  for (const zone of ZONE_NAMES) offsetAt(zone, NOW);
  const { mock } = t.mock.method(Intl.DateTimeFormat.prototype, 'formatToParts');
  for (const zone of ZONE_NAMES) {
    offsetAt(zone, NOW + 1000);
    nextChange(zone, NOW + 1000);
  }
  assert.equal(mock.callCount(), 0);
  offsetAt('Europe/Berlin', NOW + 366 * 86_400_000);
  assert.ok(mock.callCount() > 0);
});

test('every name is a zone that the engine has, and is found by its label', () => {
  assert.ok(ZONE_NAMES.length > 500);
  for (const zone of ZONE_NAMES) {
    const label = zone.toLowerCase().replace(/[/_]/g, '-').replace('+', '-plus-');
    assert.equal(zoneOfLabel(label), zone);
    assert.match(label, /^[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?$/);
  }
  for (const zone of ['Asia/Kolkata', 'Europe/Kyiv', 'US/Pacific', 'GMT']) {
    assert.equal(zoneOfLabel(zone), zone);
    assert.ok(Number.isInteger(offsetAt(zone, NOW)));
  }
});

test('every name of the IANA database is a zone and no city (finding M4 of the second review)', async () => {
  const names = readFileSync(new URL('../../test/fixtures/iana-zones.txt', import.meta.url), 'utf8')
    .split('\n')
    .filter((line) => line !== '' && !line.startsWith('#'));
  assert.ok(names.length > 590);
  for (const name of names) {
    const label = name.toLowerCase().replace(/[/_]/g, '-').replace('+', '-plus-').replace('--', '-');
    for (const asked of [label, name]) {
      const { zone, loc, off } = answerFields(await time.answer([asked], NOW), TIME_ABOUT);
      assert.deepEqual([zone, loc, off], [name, undefined, offsetOfEngine(name, NOW)], asked);
    }
  }
  const offset = async (label: string) => answerFields(await time.answer([label], NOW), TIME_ABOUT).off;
  assert.deepEqual([await offset('etc-gmt-5'), await offset('etc-gmt-plus-5')], [18_000, -18_000]);
});

test('abbreviations that are no zone have no answer, whatever city has these letters', async () => {
  const labels = 'pst pdt edt cdt mdt bst jst ist sgt cst aest cest PST hkt factory'.split(' ');
  for (const label of labels) assert.equal(codeOf(await time.answer([label], NOW)), 'E004', label);
});

test('neither coordinates nor what means the asker have a zone here', async () => {
  for (const params of [
    [],
    ['52d5_13d4'],
    ['0_0'],
    ['me'],
    ['local'],
    ['ip-8-8-8-8'],
    ['utc', 'utc'],
    [''],
  ]) {
    const outcome = await time.answer(params, NOW);
    assert.equal(outcome.kind === 'malformed' || codeOf(outcome) === 'E004', true, params.join('.'));
    assert.equal(outcome.kind, params[0] === '' ? 'answer' : 'malformed', params.join('.'));
  }
  for (const label of ['nowhereville', 'europe-nowhereville', 'etc-gmt-15', 'utc-5']) {
    assert.equal(codeOf(await time.answer([label], NOW)), 'E004', label);
  }
});
