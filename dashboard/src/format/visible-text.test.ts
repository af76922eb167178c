import assert from 'node:assert/strict';
import { it } from 'node:test';
import { visibleLine, visibleParts } from './visible-text.ts';

it('an override of the direction, a zero-width and a control character become marks, in their places', () => {
  assert.deepEqual(visibleParts('a\u202eb\u200b'), [
    { text: 'a', isMark: false },
    { text: 'U+202E', isMark: true },
    { text: 'b', isMark: false },
    { text: 'U+200B', isMark: true },
  ]);
  assert.equal(visibleLine('\u0000x\ufeff a\u200db \u{e0041}'), '⟨U+0000⟩x⟨U+FEFF⟩ a⟨U+200D⟩b ⟨U+E0041⟩');
});

it('letters of every script, emoji, tabs and line ends stay', () => {
  const text = 'é שלום 👍🏽 👩🏽\u200d🔬 ❤️\u200d🔥\tb\nc';
  assert.deepEqual(visibleParts(text), [{ text, isMark: false }]);
  assert.equal(visibleLine('a\r\nb'), 'a↵b');
});
