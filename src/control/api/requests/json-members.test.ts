import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { membersOf, membersWritten } from './json-members.ts';

test('a text without repeated names has as many members as its value', () => {
  fc.assert(
    fc.property(fc.jsonValue(), fc.constantFrom(0, 2), (value, indent) => {
      const text = JSON.stringify(value, null, indent);
      return membersWritten(text) === membersOf(JSON.parse(text));
    }),
  );
});

test('a name that stands twice is one member less in the value', () => {
  for (const [text, written, read] of [
    ['{"a":1,"a":2}', 2, 1],
    ['{"a":1,"\\u0061":2}', 2, 1],
    ['{"a":{"b":1,"b":1},"c":{"b":1}}', 5, 4],
    ['[{"a":1},{"a":1}]', 2, 2],
    ['{"a:\\":\\\\":":","b":":"}', 2, 2],
    ['"a:b"', 0, 0],
    ['{}', 0, 0],
  ] as const) {
    assert.deepEqual([membersWritten(text), membersOf(JSON.parse(text))], [written, read], text);
  }
});

test('quotation marks and backslashes without end take linear time', () => {
  const text = JSON.stringify({ a: '\\'.repeat(200_000), b: '"'.repeat(200_000) });
  assert.equal(membersWritten(text), 2);
  assert.equal(membersOf(JSON.parse(`${'['.repeat(100_000)}${']'.repeat(100_000)}`)), 0);
});
