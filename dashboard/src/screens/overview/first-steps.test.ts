import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { doneSteps, nextStep } from './first-steps.ts';

const NOTHING = { namespaces: 0, records: 0, tokens: 0, reads: 0, webhooks: 0 };

describe('the first steps', () => {
  it('follow each other', () => {
    assert.equal(nextStep(doneSteps(NOTHING)), 'namespace');
    assert.equal(nextStep(doneSteps({ ...NOTHING, namespaces: 1 })), 'record');
    assert.equal(nextStep(doneSteps({ ...NOTHING, namespaces: 1, records: 1 })), 'token');
    assert.equal(nextStep(doneSteps({ ...NOTHING, namespaces: 1, records: 1, tokens: 1 })), 'read');
    assert.equal(nextStep(doneSteps({ ...NOTHING, namespaces: 1, records: 1, reads: 1 })), 'webhook');
    assert.equal(nextStep(doneSteps({ namespaces: 1, records: 1, tokens: 1, reads: 1, webhooks: 1 })), null);
  });

  it('may be done in another order', () => {
    assert.equal(nextStep(doneSteps({ ...NOTHING, webhooks: 1, namespaces: 1 })), 'record');
  });
});
