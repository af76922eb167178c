import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { formatted, isJson, minified } from './json-text.ts';

describe('JSON laid out as text', () => {
  it('is what JSON.stringify makes of a usual document', () => {
    const document = {
      a: [1, 2, { b: null }],
      'x: {y}, "z"\\': 'a "quoted" {brace}, [mark]: \\',
      t: true,
      e: {},
      l: [],
    };
    const text = JSON.stringify(document);
    assert.equal(formatted(text), JSON.stringify(document, null, 2));
    assert.equal(minified(formatted(text)), text);
  });

  it('keeps large numbers and repeated names', () => {
    const text = '{"id":12345678901234567890,"a":1.10,"a":2}';
    assert.equal(minified(formatted(text)), text);
    assert.ok(formatted(text).includes('12345678901234567890'));
  });

  it('nested empty values and single values', () => {
    for (const text of ['[[],[[]],{}]', '{}', '"x"', '1', 'null', '[{"a":{}}]']) {
      assert.equal(formatted(text), JSON.stringify(JSON.parse(text), null, 2), text);
    }
  });

  it('leaves what is no JSON alone', () => {
    for (const text of ['', '{a:1}', '{"a":1', 'x']) {
      assert.ok(!isJson(text));
      assert.equal(formatted(text), text);
      assert.equal(minified(text), text);
    }
  });
});
