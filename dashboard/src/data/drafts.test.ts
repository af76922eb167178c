import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { h, options, render } from 'preact';
import { type FormDraft, forgetDrafts, useDraft } from './drafts.ts';

interface Typed {
  readonly text: string;
}

// Renderings and frames wait for the test.
const waiting: (() => void)[] = [];
function draw(): void {
  while (waiting.length > 0) waiting.shift()!();
}

/** An open form. */
function show() {
  let now: FormDraft<Typed> | null = null;
  const Form = () => {
    now = useDraft<Typed>('form', { text: '' });
    return null;
  };
  const place = { nodeType: 1, childNodes: [], firstChild: null } as unknown as Element;
  render(h(Form, null), place);
  draw();
  return {
    now: () => now!,
    type(text: string) {
      now!.change({ text });
      draw();
    },
    leave: () => render(null, place),
  };
}

describe('what was typed into a form', () => {
  let others = {};
  before(() => {
    others = { ...options };
    options.debounceRendering = (run) => void waiting.push(run);
    options.requestAnimationFrame = (run) => void waiting.push(run);
  });
  // Other files of this process have their own.
  after(() => {
    Object.assign(options, others);
    forgetDrafts();
  });

  it('is offered when it opens again, also before the one that it replaces has gone', () => {
    for (const isEarly of [false, true]) {
      forgetDrafts();
      const old = show();
      old.type('lost');
      if (!isEarly) old.leave();
      const form = show();
      if (isEarly) old.leave();
      assert.notEqual(form.now().leftAt, null, String(isEarly));
      form.now().restore();
      draw();
      assert.deepEqual(form.now().value, { text: 'lost' });
      form.leave();
    }
  });

  it('is not kept by a form that goes after another person has signed in', () => {
    forgetDrafts();
    const form = show();
    form.type('secret');
    forgetDrafts();
    form.leave();
    assert.equal(show().now().leftAt, null);
  });

  it('is no draft once it is saved, or where nothing was changed', () => {
    forgetDrafts();
    const form = show();
    form.type('kept');
    form.now().saved();
    assert.equal(show().now().leftAt, null);
    form.leave();
    assert.equal(show().now().leftAt, null);
  });
});
