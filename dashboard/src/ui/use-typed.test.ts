import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { type ComponentType, h, options, render } from 'preact';
import { useState } from 'preact/hooks';
import { type Typed, useTyped } from './use-typed.ts';

const PAUSE_MS = 200;

// Renderings and frames wait for the test.
const renderings: (() => void)[] = [];
const frames: (() => void)[] = [];
function draw(): void {
  for (const run of renderings.splice(0)) run();
}

function frame(): void {
  draw();
  for (const run of frames.splice(0)) run();
  draw();
}

describe('a text that takes effect a moment after the last letter', () => {
  const others = { ...options };
  before(() => {
    options.debounceRendering = (run) => void renderings.push(run);
    options.requestAnimationFrame = (run) => void frames.push(run);
  });
  // Other files of this process have their own.
  after(() => void Object.assign(options, others));

  /** A field whose value is what it has sent, or what `set` gives it. */
  function show() {
    const sent: string[] = [];
    let now: Typed | null = null;
    let set: (value: string) => void = () => undefined;
    const Field: ComponentType = () => {
      const [value, setValue] = useState('');
      set = setValue;
      now = useTyped(value, PAUSE_MS, (text) => {
        sent.push(text);
        setValue(text);
      });
      return null;
    };
    const place = { nodeType: 1, childNodes: [], firstChild: null } as unknown as Element;
    render(h(Field, null), place);
    frame();
    return { sent, now: () => now!, set: (value: string) => set(value), leave: () => render(null, place) };
  }

  it('a letter that is typed as the text before it takes effect is not lost', (test) => {
    test.mock.timers.enable({ apis: ['setTimeout'] });
    const field = show();
    field.now().type('ab');
    frame();
    test.mock.timers.tick(PAUSE_MS);
    // What was sent is the value now, and its frame is not over.
    draw();
    field.now().type('abc');
    frame();
    assert.equal(field.now().typed, 'abc');
    test.mock.timers.tick(PAUSE_MS);
    frame();
    assert.deepEqual([field.sent, field.now().typed], [['ab', 'abc'], 'abc']);
    field.leave();
  });

  it('a value from outside takes its place, also one that it has sent before', (test) => {
    test.mock.timers.enable({ apis: ['setTimeout'] });
    const field = show();
    field.now().type('ab');
    draw();
    field.now().send();
    frame();
    for (const value of ['', 'ab', 'other']) {
      field.set(value);
      frame();
      assert.equal(field.now().typed, value);
    }
    test.mock.timers.tick(PAUSE_MS);
    assert.deepEqual(field.sent, ['ab']);
    field.leave();
  });
});
