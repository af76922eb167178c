import assert from 'node:assert/strict';
import { it } from 'node:test';
import { diffOf } from './diff.ts';

it('differences are lines of text, members of JSON, and the place where octets differ', () => {
  const of = (before: string, after: string) => diffOf(Buffer.from(before), Buffer.from(after));
  assert.deepEqual(of('same', 'same'), []);
  assert.deepEqual(of('a\nb\nc\n', 'a\nx\nc\n'), ['  a', '- b', '+ x', '  c']);
  assert.deepEqual(of('', 'x'), ['+ x']);
  assert.deepEqual(of('{"a":1,"b":2}', '{"a":1,"b":3}'), [
    '  {',
    '    "a": 1,',
    '-   "b": 2',
    '+   "b": 3',
    '  }',
  ]);
  assert.deepEqual(diffOf(Buffer.from([1, 255]), Buffer.from([1, 254, 1])), [
    'octets differ from 1 on: 2 -> 3 bytes',
  ]);
});

it('says what differs where no line does: white space, or how the JSON is written', () => {
  const of = (before: string, after: string) => diffOf(Buffer.from(before), Buffer.from(after));
  assert.deepEqual(of('{"a":1}', '{ "a": 1 }'), ['only white space differs: 7 -> 10 bytes']);
  assert.deepEqual(of('x', 'x\n'), ['only white space differs: 1 -> 2 bytes']);
  assert.deepEqual(of('{"a":1}', '{"a":1.0}'), ['only the notation of the JSON differs: 7 -> 9 bytes']);
  assert.deepEqual(
    of('["a"]', '["a "]'),
    ['  [', '-   "a"', '+   "a "', '  ]'],
    'space in a text is no white space of JSON',
  );
});
