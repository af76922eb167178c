import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { doneSteps, type Facts, nextStep, stepsOf } from './first-steps.ts';

const NOTHING = { namespaces: 0, records: 0, reads: 0, queries: 0, webhooks: 0, hasCode: false };
const ALL = stepsOf(true, true);

function next(facts: Partial<Facts>, steps = ALL) {
  return nextStep(steps, doneSteps(steps, { ...NOTHING, ...facts }));
}

describe('the first steps', () => {
  it('follow each other', () => {
    assert.equal(next({}), 'namespace');
    assert.equal(next({ namespaces: 1 }), 'record');
    assert.equal(next({ namespaces: 1, records: 1 }), 'read');
    assert.equal(next({ namespaces: 1, records: 1, reads: 1 }), 'dig');
    assert.equal(next({ namespaces: 1, records: 1, reads: 1, queries: 1 }), 'webhook');
    assert.equal(next({ namespaces: 1, records: 1, reads: 1, queries: 1, webhooks: 1 }), 'code');
    assert.equal(next({ namespaces: 1, records: 1, queries: 1, webhooks: 1, hasCode: true }), null);
  });

  it('may be done in another order', () => {
    assert.equal(next({ webhooks: 1, namespaces: 1 }), 'record');
    assert.equal(next({ namespaces: 1, records: 1, queries: 1 }), 'webhook', 'a dig is a read');
  });

  it('hold none that the account cannot finish', () => {
    assert.deepEqual(stepsOf(false, true), ['namespace', 'record', 'read', 'dig', 'code']);
    assert.deepEqual(stepsOf(true, false), ['namespace', 'record', 'read', 'webhook', 'code']);
    const free = stepsOf(false, true);
    assert.equal(next({ namespaces: 1, records: 1, queries: 1 }, free), 'code');
    assert.equal(next({ namespaces: 1, records: 1, queries: 1, hasCode: true }, free), null);
  });
});
