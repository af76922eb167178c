import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { answerFields, askName, NOW } from '../../test/support/services/check-service.ts';
import { EPOCH_ABOUT, makeEpoch } from './epoch.ts';

const epoch = makeEpoch();

async function fields(label: string): Promise<Record<string, unknown>> {
  return answerFields(await epoch.answer([label], NOW), EPOCH_ABOUT);
}

test('the first example is answered as described, and what has an instant is cached', async () => {
  const outcome = await askName(epoch, EPOCH_ABOUT.examples[0]);
  assert.ok(outcome.kind === 'answer');
  assert.equal(Buffer.from(outcome.text).toString(), EPOCH_ABOUT.exampleResponse);
  assert.deepEqual([outcome.ttl, outcome.until], [86_400, NOW + 86_400_000]);
});

test('now: to the millisecond, and in no cache', async () => {
  const outcome = await epoch.answer([], NOW + 1234);
  assert.ok(outcome.kind === 'answer');
  assert.deepEqual([outcome.ttl, outcome.until], [0, 0]);
  const { sec, iso } = answerFields(outcome, EPOCH_ABOUT);
  assert.deepEqual([sec, iso], [NOW / 1000 + 1.234, '2026-01-01T00:00:01.234Z']);
});

test('seconds, milliseconds, dates and times', async () => {
  for (const [label, sec, iso] of [
    ['0', 0, '1970-01-01T00:00:00Z'],
    ['n0', 0, '1970-01-01T00:00:00Z'],
    ['n1', -1, '1969-12-31T23:59:59Z'],
    ['n1d5', -1.5, '1969-12-31T23:59:58.500Z'],
    ['2147483648', 2_147_483_648, '2038-01-19T03:14:08Z'],
    ['1d001', 1.001, '1970-01-01T00:00:01.001Z'],
    ['1767225600123-ms', 1_767_225_600.123, '2026-01-01T00:00:00.123Z'],
    ['n1-ms', -0.001, '1969-12-31T23:59:59.999Z'],
    ['253402300799', 253_402_300_799, '9999-12-31T23:59:59Z'],
    ['253402300799d999', 253_402_300_799.999, '9999-12-31T23:59:59.999Z'],
    ['n62167219200', -62_167_219_200, '0000-01-01T00:00:00Z'],
    ['0000-01-01', -62_167_219_200, '0000-01-01T00:00:00Z'],
    ['2026-01-01', 1_767_225_600, '2026-01-01T00:00:00Z'],
    ['2024-02-29t12-30z', 1_709_209_800, '2024-02-29T12:30:00Z'],
    ['2024-02-29T12-30-01Z', 1_709_209_801, '2024-02-29T12:30:01Z'],
    ['2024-02-29t12-30-01d25z', 1_709_209_801.25, '2024-02-29T12:30:01.250Z'],
    ['2024-02-29T12:30:01.25Z', 1_709_209_801.25, '2024-02-29T12:30:01.250Z'],
  ] as const) {
    const found = await fields(label);
    assert.deepEqual([found.sec, found.iso], [sec, iso], label);
  }
});

test('weeks of ISO 8601 at the ends of years', async () => {
  for (const [label, week, day] of [
    ['2026-01-01', '2026-W01', 'thursday'],
    ['2024-12-30', '2025-W01', 'monday'],
    ['2021-01-03', '2020-W53', 'sunday'],
    ['2021-01-04', '2021-W01', 'monday'],
    ['2016-01-01', '2015-W53', 'friday'],
    ['1970-01-01', '1970-W01', 'thursday'],
    ['1969-12-28', '1969-W52', 'sunday'],
    ['0000-01-03', '0000-W01', 'monday'],
    // The Thursday of its week lies in the year -1.
    ['0000-01-01', undefined, 'saturday'],
    ['9999-12-31', '9999-W52', 'friday'],
  ] as const) {
    const found = await fields(label);
    assert.deepEqual([found.week, found.day], [week, day], label);
  }
});

test('what is malformed', async () => {
  for (const label of [
    ...['', 'n', '-', 'd5', '1d', '1d1234', '01', '1e3', '0x10', 'now', '1-s', '1-ms-ms', 'nn1', '1_0'],
    ...['253402300800', 'n62167219201', '9999999999999', '999999999999', '253402300800000-ms'],
    ...['2026-02-29', '2026-13-01', '2026-1-1', '2026-01-01t', '2026-01-01t12z', '2026-01-01t12-30'],
    ...['2026-01-01t24-00-00z', '2026-01-01t23-59-60z', '2026-01-01t12-60z', '2026-01-01z', '10000-01-01'],
    ...['2026-01-01t12-30-00z0100', '2026-01-01t12-30-00d1234z', '٢٠٢٦-٠١-٠١'],
  ]) {
    assert.equal((await epoch.answer([label], NOW)).kind, 'malformed', label);
  }
  assert.equal((await epoch.answer(['1', '1'], NOW)).kind, 'malformed');
});

test('property: seconds and ISO 8601 are each the inverse of the other', async () => {
  await fc.assert(
    fc.asyncProperty(fc.integer({ min: -62_167_219_200_000, max: 253_402_300_799_999 }), async (ms) => {
      const label = `${ms < 0 ? 'n' : ''}${Math.abs(ms)}-ms`;
      const { iso, sec } = await fields(label);
      assert.equal(iso, new Date(ms).toISOString().replace('.000Z', 'Z'));
      assert.equal(sec, ms / 1000);
      const back = String(iso).toLowerCase().replaceAll(':', '-').replace('.', 'd');
      assert.deepEqual(await fields(back), await fields(label));
    }),
    { numRuns: 300 },
  );
});
