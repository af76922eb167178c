import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Faults, Fields, isOneLine, isText } from './fields.ts';

function read(object: Record<string, unknown>, use: (fields: Fields) => void, at = ''): string[] {
  const faults = new Faults();
  use(new Fields(object, ['a', 'b'], faults, at));
  return faults.messages;
}

const texts = (fields: Fields): unknown => fields.listOf('a', 2, isText, 'strings');

test('nothing is coerced, and every fault is named', () => {
  const cases: readonly (readonly [unknown, (fields: Fields) => unknown, string | null])[] = [
    ['x', (it) => it.text('a'), null],
    [1, (it) => it.text('a'), 'a must be a string'],
    [null, (it) => it.text('a'), 'a must be a string'],
    [60, (it) => it.integer('a', 0, 60), null],
    [0, (it) => it.integer('a', 0, 60), null],
    [61, (it) => it.integer('a', 0, 60), 'a must be between 0 and 60'],
    [-1, (it) => it.integer('a', 0, 60), 'a must be between 0 and 60'],
    ['60', (it) => it.integer('a', 0, 60), 'a must be an integer'],
    [1.5, (it) => it.integer('a', 0, 60), 'a must be an integer'],
    [Number.POSITIVE_INFINITY, (it) => it.integer('a', 0, 60), 'a must be an integer'],
    [true, (it) => it.integer('a', 0, 60), 'a must be an integer'],
    [true, (it) => it.boolean('a'), null],
    [false, (it) => it.boolean('a'), null],
    [0, (it) => it.boolean('a'), 'a must be true or false'],
    ['true', (it) => it.boolean('a'), 'a must be true or false'],
    [null, (it) => it.boolean('a'), 'a must be true or false'],
    [[], texts, null],
    [['x', 'y'], texts, null],
    [['x', 'x', 'x'], texts, 'a must have at most 2 items'],
    [['x', 1], texts, 'a must have only strings'],
    [{}, texts, 'a must be an array'],
    ['xy', texts, 'a must be an array'],
    [{}, (it) => it.object('a'), null],
    [[], (it) => it.object('a'), 'a must be an object'],
    [null, (it) => it.object('a'), 'a must be an object'],
  ];
  for (const [value, use, fault] of cases) {
    const messages = read({ a: value }, (fields) => {
      if (fault === null) assert.deepEqual(use(fields), value);
      else assert.equal(use(fields), undefined);
    });
    assert.deepEqual(messages, fault === null ? [] : [fault]);
  }
});

test('a list is read without its repetitions', () => {
  read({ a: ['y', 'x', 'y'] }, (fields) =>
    assert.deepEqual(fields.listOf('a', 3, isText, 'strings'), ['y', 'x']),
  );
  assert.deepEqual(read({}, texts), []);
});

test('an unknown field is called by its name, or by its position where the name cannot be repeated', () => {
  const long = 'x'.repeat(64);
  assert.deepEqual(
    read({ c: 1, __proto__x: 2, 'a b': 3, ü: 4, [long]: 5, [`${long}x`]: 6 }, (fields) => {
      assert.equal(fields.text('a'), undefined);
      assert.equal(fields.requiredText('b'), undefined);
    }),
    [
      'c is not a known field',
      '__proto__x is not a known field',
      'a b is not a known field',
      'field 4 is not a known field',
      `${long} is not a known field`,
      'field 6 is not a known field',
      'b is required',
    ],
  );
});

test('a nested object is called by its path', () => {
  assert.deepEqual(
    read({ c: 1 }, (fields) => fields.requiredText('a'), 'records[3]'),
    ['records[3].c is not a known field', 'records[3].a is required'],
  );
});

test('an unknown field of a nested object has its path', () => {
  assert.deepEqual(
    read({ a: 1, ü: 1 }, () => {}, 'scopes'),
    ['scopes.field 2 is not a known field'],
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
