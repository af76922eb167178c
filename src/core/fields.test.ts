import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Faults, Fields, isOneLine } from './fields.ts';

function read(object: Record<string, unknown>, use: (fields: Fields) => void, at = ''): string[] {
  const faults = new Faults();
  use(new Fields(object, ['a', 'b'], faults, at));
  return faults.messages;
}

test('nothing is coerced, and every fault is named', () => {
  const cases: readonly (readonly [unknown, (fields: Fields) => unknown, string | null])[] = [
    ['x', (it) => it.text('a'), null],
    [1, (it) => it.text('a'), 'A must be a string'],
    [null, (it) => it.text('a'), 'A must be a string'],
    [60, (it) => it.integer('a', 0, 60), null],
    [0, (it) => it.integer('a', 0, 60), null],
    [61, (it) => it.integer('a', 0, 60), 'A must be between 0 and 60'],
    [-1, (it) => it.integer('a', 0, 60), 'A must be between 0 and 60'],
    ['60', (it) => it.integer('a', 0, 60), 'A must be an integer'],
    [1.5, (it) => it.integer('a', 0, 60), 'A must be an integer'],
    [Number.POSITIVE_INFINITY, (it) => it.integer('a', 0, 60), 'A must be an integer'],
    [true, (it) => it.integer('a', 0, 60), 'A must be an integer'],
    [[1, 2], (it) => it.list('a', 2), null],
    [[1, 2, 3], (it) => it.list('a', 2), 'A must have at most 2 items'],
    [{}, (it) => it.list('a', 2), 'A must be an array'],
    [{}, (it) => it.object('a'), null],
    [[], (it) => it.object('a'), 'A must be an object'],
    [null, (it) => it.object('a'), 'A must be an object'],
    ['ok', (it) => it.requiredName('a', 2), null],
    ['not', (it) => it.requiredName('a', 2), 'A must have at most 2 characters'],
    ['  ', (it) => it.requiredName('a', 2), 'A must be one line of text and not blank'],
  ];
  for (const [value, use, fault] of cases) {
    const messages = read({ a: value }, (fields) => {
      if (fault === null) assert.deepEqual(use(fields), value);
      else assert.equal(use(fields), undefined);
    });
    assert.deepEqual(messages, fault === null ? [] : [fault]);
  }
});

test('absent and unknown fields', () => {
  assert.deepEqual(
    read({ c: 1, __proto__x: 2, 'a b': 3 }, (fields) => {
      assert.equal(fields.text('a'), undefined);
      assert.equal(fields.requiredText('b'), undefined);
    }),
    [
      'c is not a known field',
      '__proto__x is not a known field',
      'Body has a field that is not known',
      'B is required',
    ],
  );
});

test('a nested object is called by its path', () => {
  assert.deepEqual(
    read({ c: 1 }, (fields) => fields.requiredText('a'), 'records[3]'),
    ['records[3].c is not a known field', 'records[3].a is required'],
  );
});

test('the list of faults is bounded', () => {
  const many = Object.fromEntries(Array.from({ length: 5000 }, (_, i) => [`x${i}`, 0]));
  assert.equal(read(many, () => {}).length, 1000);
});

test('one-line names', () => {
  for (const text of ['a', 'deploy key', 'Clé d’été', '部署']) assert.ok(isOneLine(text), text);
  for (const text of ['', ' ', 'a\nb', 'a\u0000', 'a\u2028', '\ud800']) assert.ok(!isOneLine(text), text);
});
