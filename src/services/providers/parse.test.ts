import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { at, dateOf, difference, jsonOf, numberOf, positive, within } from './source.ts';

describe('what a provider sent', () => {
  it('is a number only in plain spelling', () => {
    const table: readonly [unknown, number | null][] = [
      [1.5, 1.5],
      ['1.5', 1.5],
      ['-0.23999', -0.23999],
      ['63123.45000', 63_123.45],
      [0, 0],
      [1e15, null],
      [-1e15, null],
      [999_999_999_999_999, 999_999_999_999_999],
      [Number.NaN, null],
      [Number.POSITIVE_INFINITY, null],
      ['', null],
      [' 1', null],
      ['1e5', null],
      ['0x10', null],
      ['+1', null],
      ['1,5', null],
      ['1.', null],
      ['.5', null],
      ['1;tc=99', null],
      ['1'.repeat(17), null],
      [null, null],
      [true, null],
      [[1], null],
      [{}, null],
    ];
    for (const [value, expected] of table) assert.equal(numberOf(value), expected, JSON.stringify(value));
  });

  it('has bounds', () => {
    assert.equal(within(70, -100, 70), 70);
    assert.equal(within(70.1, -100, 70), null);
    assert.equal(within(-100.1, -100, 70), null);
    assert.equal(positive('0.00000812'), 0.000_008_12);
    assert.equal(positive(0), null);
    assert.equal(positive('-1'), null);
  });

  it('is a date that exists', () => {
    assert.equal(dateOf('2024-02-29'), '2024-02-29');
    for (const value of ['2025-02-29', '2025-13-01', '2025-1-1', '2025-01-01T00:00', 20_250_101, null, '']) {
      assert.equal(dateOf(value), null, String(value));
    }
  });

  it('is found along its own members alone', () => {
    const data = jsonOf('{"a":[{"b":1}],"__proto__":{"c":2}}');
    assert.equal(at(data, 'a', 0, 'b'), 1);
    for (const path of [
      ['a', 1],
      ['a', 0, 'x'],
      ['toString'],
      ['constructor'],
      ['a', 'length', 'x'],
      ['c'],
    ]) {
      assert.equal(at(data, ...path), undefined, path.join());
    }
    assert.equal(at(jsonOf('nonsense'), 'a'), undefined);
    assert.equal(at('text', 0), undefined);
  });

  it('is subtracted without noise', () => {
    assert.equal(difference('63123.45', '63123.44'), 0.01);
    assert.equal(difference(148.85, 149.09), -0.24);
    assert.equal(difference('100', '99'), 1);
    assert.equal(difference('x', '1'), null);
  });
});
