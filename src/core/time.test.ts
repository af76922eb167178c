import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { formatTime, formatTimeOrNull, parseTime } from './time.ts';

const valid: readonly (readonly [string, string])[] = [
  ['2026-01-02T03:04:05Z', '2026-01-02T03:04:05.000Z'],
  ['2026-01-02t03:04:05z', '2026-01-02T03:04:05.000Z'],
  ['2026-01-02T03:04:05.1Z', '2026-01-02T03:04:05.100Z'],
  ['2026-01-02T03:04:05.123456789Z', '2026-01-02T03:04:05.123Z'],
  ['2026-01-02T03:04:05+02:30', '2026-01-02T00:34:05.000Z'],
  ['2026-01-02T03:04:05-00:00', '2026-01-02T03:04:05.000Z'],
  ['2026-01-01T23:30:00-01:00', '2026-01-02T00:30:00.000Z'],
  ['2024-02-29T00:00:00Z', '2024-02-29T00:00:00.000Z'],
  ['0099-12-31T00:00:00Z', '0099-12-31T00:00:00.000Z'],
];
const invalid = [
  '',
  '2026-01-02',
  '2026-01-02T03:04:05',
  '2026-01-02T03:04Z',
  '2026-01-02 03:04:05Z',
  '2026-02-30T00:00:00Z',
  '2025-02-29T00:00:00Z',
  '2026-00-01T00:00:00Z',
  '2026-13-01T00:00:00Z',
  '2026-01-32T00:00:00Z',
  '2026-01-02T24:00:00Z',
  '2026-01-02T03:60:00Z',
  '2026-01-02T03:04:60Z',
  '2026-01-02T03:04:05+24:00',
  '2026-01-02T03:04:05+01:60',
  '2026-01-02T03:04:05+0100',
  '2026-01-02T03:04:05.Z',
  ' 2026-01-02T03:04:05Z',
  '2026-01-02T03:04:05Z\n',
  '+002026-01-02T03:04:05Z',
  '1767322800',
];

test('timestamps that are read', () => {
  for (const [text, utc] of valid) assert.equal(formatTime(parseTime(text)!), utc, text);
});

test('timestamps that are not', () => {
  for (const text of invalid) assert.equal(parseTime(text), null, text);
});

test('what is written is read back', () => {
  fc.assert(
    fc.property(fc.integer({ min: 0, max: 253_402_300_799_999 }), (ms) => parseTime(formatTime(ms)) === ms),
  );
  assert.equal(formatTimeOrNull(null), null);
});
