import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { isBrowser, randomUuid, uuidOf } from './runtime.ts';

describe('runtimes', () => {
  it('Node is no browser', () => assert.equal(isBrowser(), false));

  it('a UUID of version 4 is made of any octets', () => {
    assert.equal(uuidOf(new Uint8Array(16)), '00000000-0000-4000-8000-000000000000');
    assert.equal(uuidOf(new Uint8Array(16).fill(255)), 'ffffffff-ffff-4fff-bfff-ffffffffffff');
    assert.match(randomUuid(), /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
  });
});
