import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type Actor, mayDoNoLess } from './actor.ts';

const BEGUN: Actor = {
  customerId: 'c',
  personId: 'p',
  userId: null,
  sessionId: null,
  role: null,
  tier: 'free',
  via: 'api_key',
  apiKey: { id: 'k', name: 'key' },
  requestId: null,
  operations: new Set(['read']),
  namespaces: new Set(['a', 'b']),
};

const CASES: readonly (readonly [string, Partial<Actor>, boolean])[] = [
  ['the same', {}, true],
  ['another request', { requestId: 'r' }, true],
  ['another customer', { customerId: 'd' }, false],
  ['more operations', { operations: new Set(['read', 'write']) }, true],
  ['other operations', { operations: new Set(['write']) }, false],
  ['more namespaces', { namespaces: new Set(['a', 'b', 'c']) }, true],
  ['all namespaces', { namespaces: null }, true],
  ['a namespace less', { namespaces: new Set(['a', 'c']) }, false],
];

for (const [title, change, may] of CASES) {
  test(`what was begun may go on: ${title}, ${may}`, () =>
    assert.equal(mayDoNoLess({ ...BEGUN, ...change }, BEGUN), may));
}

test('what was begun for all namespaces does not go on for some', () =>
  assert.equal(mayDoNoLess(BEGUN, { ...BEGUN, namespaces: null }), false));
