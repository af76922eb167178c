import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { parseRetryAfter, RETRY_AFTER_MAX } from './request.ts';

/** Sunday. */
const NOW = Date.UTC(2026, 0, 4, 12, 0, 0);

const TABLE: readonly [string, number | null][] = [
  ['0', 0],
  ['1', 1],
  ['120', 120],
  ['00120', 120],
  [' 120 ', 120],
  [String(RETRY_AFTER_MAX), RETRY_AFTER_MAX],
  [String(RETRY_AFTER_MAX + 1), RETRY_AFTER_MAX],
  ['9'.repeat(400), RETRY_AFTER_MAX],
  ['Sun, 04 Jan 2026 12:00:30 GMT', 30],
  ['Sun, 04 Jan 2026 12:00:00 GMT', 0],
  ['Sun, 04 Jan 2026 11:59:59 GMT', 0],
  ['Sun, 06 Nov 1994 08:49:37 GMT', 0],
  ['Mon, 05 Jan 2026 12:00:00 GMT', RETRY_AFTER_MAX],
  ['Mon, 05 Jan 2026 12:00:01 GMT', RETRY_AFTER_MAX],
  ['Fri, 31 Dec 9999 23:59:59 GMT', RETRY_AFTER_MAX],
  ['Sun, 04 Jan 2026 12:00:60 GMT', 60],
  ['Mon, 04 Jan 2026 12:00:30 GMT', 30],
  ['Sunday, 04-Jan-26 12:01:00 GMT', 60],
  ['Friday, 04-Jan-80 12:01:00 GMT', 0],
  ['Sunday, 04-Jan-76 12:01:00 GMT', RETRY_AFTER_MAX],
  ['Tuesday, 04-Jan-77 12:01:00 GMT', 0],
  ['Sun Jan  4 12:02:00 2026', 120],
  ['Sun Jan 04 12:02:00 2026', 120],
  ['Sun Nov  6 08:49:37 1994', 0],
  ['', null],
  [' ', null],
  ['-1', null],
  ['+1', null],
  ['1.5', null],
  ['1e3', null],
  ['0x10', null],
  ['１２', null],
  ['5, 10', null],
  ['5s', null],
  ['soon', null],
  ['2026-01-04T12:00:30Z', null],
  ['Sun, 04 Jan 2026 12:00:30', null],
  ['Sun, 04 Jan 2026 12:00:30 CET', null],
  ['Sun, 04 Jan 2026 12:00:30 +0000', null],
  ['Sun, 4 Jan 2026 12:00:30 GMT', null],
  ['04 Jan 2026 12:00:30 GMT', null],
  ['sun, 04 jan 2026 12:00:30 gmt', null],
  ['Sun, 04 Foo 2026 12:00:30 GMT', null],
  ['Sun, 00 Jan 2026 12:00:30 GMT', null],
  ['Sun, 32 Jan 2026 12:00:30 GMT', null],
  ['Sun, 30 Feb 2026 12:00:30 GMT', null],
  ['Sun, 29 Feb 2026 12:00:30 GMT', null],
  ['Tue, 29 Feb 2028 12:00:30 GMT', RETRY_AFTER_MAX],
  ['Sun, 04 Jan 2026 24:00:00 GMT', null],
  ['Sun, 04 Jan 2026 12:60:00 GMT', null],
  ['Sun, 04 Jan 2026 12:00:61 GMT', null],
  ['Sun, 04-Jan-26 12:01:00 GMT', null],
];

describe('Retry-After', () => {
  it('is seconds or a date', () => {
    for (const [value, expected] of TABLE) assert.equal(parseRetryAfter(value, NOW), expected, value);
  });

  it('rounds a date up, so that no retry is early', () => {
    assert.equal(parseRetryAfter('Sun, 04 Jan 2026 12:00:30 GMT', NOW + 1), 30);
    assert.equal(parseRetryAfter('Sun, 04 Jan 2026 12:00:30 GMT', NOW + 999), 30);
    assert.equal(parseRetryAfter('Sun, 04 Jan 2026 12:00:30 GMT', NOW + 1000), 29);
  });

  it('reads every date that is written as today', () => {
    fc.assert(
      fc.property(fc.integer({ min: 0, max: RETRY_AFTER_MAX }), (seconds) => {
        const written = new Date(NOW + seconds * 1000).toUTCString();
        assert.equal(parseRetryAfter(written, NOW), seconds);
      }),
    );
  });

  it('never gives anything but whole seconds within bounds, or null', () => {
    fc.assert(
      fc.property(fc.oneof(fc.string(), fc.constantFrom(...TABLE.map(([value]) => value))), (value) => {
        const seconds = parseRetryAfter(value, NOW);
        assert.ok(
          seconds === null || (Number.isInteger(seconds) && seconds >= 0 && seconds <= RETRY_AFTER_MAX),
        );
      }),
    );
  });
});
