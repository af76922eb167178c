import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { valueDiff } from './value-diff.ts';

const octets = (text: string): Uint8Array => new TextEncoder().encode(text);

/** `- old` and `+ new`; `… 4` for lines that are left out. */
function shown(before: Uint8Array, after: Uint8Array): readonly [string, ...string[]] {
  const { form, lines } = valueDiff(before, after);
  return [form, ...lines.map((line) => `${line.mark} ${'left' in line ? line.left : line.text}`)];
}

describe('differences of two values', () => {
  it('are none between the same octets, of any kind', () => {
    assert.deepEqual(shown(octets('a'), octets('a')), ['text']);
    assert.deepEqual(shown(octets(''), octets('')), ['text']);
    assert.deepEqual(shown(Uint8Array.of(255), Uint8Array.of(255)), ['octets']);
  });

  it('are members of JSON, with numbers as they were written', () => {
    const before = octets('{"id":12345678901234567890,"on":true}');
    assert.deepEqual(shown(before, octets('{"id":12345678901234567891,"on":true}')), [
      'json',
      '  {',
      '-   "id": 12345678901234567890,',
      '+   "id": 12345678901234567891,',
      '    "on": true',
      '  }',
    ]);
  });

  it('are lines of text where JSON differs in white space alone, or one side is none', () => {
    assert.deepEqual(shown(octets('{"a":1}'), octets('{"a": 1}')), ['text', '- {"a":1}', '+ {"a": 1}']);
    assert.deepEqual(shown(octets('{"a":1}'), octets('{"a":1')), ['text', '- {"a":1}', '+ {"a":1']);
    assert.deepEqual(shown(octets(''), octets('x\n')), ['text', '+ x', '+ ']);
  });

  it('are octets where one side is no text', () => {
    const lines = shown(octets('ab'), Uint8Array.of(97, 255));
    assert.equal(lines[0], 'octets');
    assert.match(lines[1] ?? '', /^- 00000000 {2}61 62 .*ab$/);
    assert.match(lines[2] ?? '', /^\+ 00000000 {2}61 ff .*a\.$/);
  });

  it('leave out long runs of equal lines, and say how many', () => {
    const text = Array.from({ length: 20 }, (_, n) => `line ${n}`);
    const changed = text.with(10, 'other');
    assert.deepEqual(shown(octets(text.join('\n')), octets(changed.join('\n'))), [
      'text',
      '… 7',
      ...['  line 7', '  line 8', '  line 9'],
      ...['- line 10', '+ other'],
      ...['  line 11', '  line 12', '  line 13'],
      '… 6',
    ]);
  });
});
