import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { parseTime } from '../../base/time.ts';
import { EARLIEST, LATEST, parseAsOf, parseDay } from './query.ts';

describe('instants', () => {
  it('are unix seconds or days, and nothing else', () => {
    for (const [text, instant] of [
      ['0', 0],
      ['0000000000', 0],
      ['9999999999', 9_999_999_999],
      ['10000000000', null],
      ['', null],
      ['-1', null],
      ['1.5', null],
      ['1e3', null],
      ['0001-01-01', EARLIEST],
      ['0000-12-31', null],
      ['9999-12-31', LATEST - 86_399],
      ['2020-02-29', 1_582_934_400],
      ['2021-02-29', null],
      ['1900-02-29', null],
      ['2000-02-29', 951_782_400],
      ['2020-02-30', null],
      ['2020-04-31', null],
      ['2020-13-01', null],
      ['2020-00-01', null],
      ['2020-01-00', null],
      ['2020-01-32', null],
      ['2020-1-1', null],
      ['0001-13-13', null],
      ['0012-13-13', null],
      ['2020-01-01\n', null],
      ['2020-01-01z', null],
      ['20200101', 20_200_101],
    ] as const) {
      assert.equal(parseAsOf(text), instant, text);
    }
  });

  it('of days agree with the parser of times', () => {
    const part = (max: number, letters: number) => fc.nat(max).map((n) => String(n).padStart(letters, '0'));
    fc.assert(
      fc.property(part(9999, 4), part(13, 2), part(32, 2), (...parts) => {
        const text = parts.join('-');
        const time = parseTime(text);
        assert.equal(parseDay(text), time === null || parts[0] === '0000' ? null : time / 1000, text);
      }),
      { numRuns: 1000 },
    );
  });
});
