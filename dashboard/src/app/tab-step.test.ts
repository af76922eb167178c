import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { tabStep } from './tab-step.ts';

describe('a sign-in or sign-out in another tab', () => {
  it('reloads a page of another user, also when its session had ended', () => {
    assert.equal(tabStep('in', 'a', 'b'), 'reload');
    assert.equal(tabStep('lost', 'a', 'b'), 'reload');
  });

  it('ends the page also where its session had ended, and continues it for the same user', () => {
    assert.equal(tabStep('in', 'a', null), 'leave');
    assert.equal(tabStep('lost', 'a', null), 'leave');
    assert.equal(tabStep('lost', 'a', 'a'), 'resume');
  });

  it('changes nothing where nothing changed', () => {
    assert.equal(tabStep('in', 'a', 'a'), 'keep');
  });
});
