import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { tokensOf } from './highlight.ts';

function coloured(code: string, language: 'json' | 'shell' | 'text'): string[] {
  return tokensOf(code, language)
    .filter(({ kind }) => kind !== null)
    .map(({ kind, text }) => `${kind} ${text}`);
}

describe('colours of code', () => {
  it('tells names, strings, numbers and words of JSON apart', () => {
    assert.deepEqual(coloured('{"a": "b\\"", "n": -1.5e3, "t": true}', 'json'), [
      'name "a"',
      'string "b\\""',
      'name "n"',
      'number -1.5e3',
      'name "t"',
      'word true',
    ]);
  });

  it('tells programs, options, variables and comments of a shell apart', () => {
    assert.deepEqual(coloured('dig +short TXT "$NAME" # ask\ncurl -s $API', 'shell'), [
      'word dig',
      'name +short',
      'string "$NAME"',
      'comment # ask',
      'word curl',
      'name -s',
      'name $API',
    ]);
  });

  it('keeps every letter', () => {
    for (const code of ['{"a": [1, "x', "echo 'open", '<script>"\u0000']) {
      for (const language of ['json', 'shell', 'text'] as const)
        assert.equal(
          tokensOf(code, language)
            .map(({ text }) => text)
            .join(''),
          code,
        );
    }
  });
});
