import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { createRepeatKeys } from './repeat-key.ts';

describe('idempotency keys of a form', () => {
  it('are the same for the same content, and others for other content and other forms', () => {
    const key = createRepeatKeys();
    const first = key({ name: 'a' });
    assert.match(first, /^[0-9a-f]{32}$/);
    assert.equal(key({ name: 'a' }), first);
    assert.notEqual(key({ name: 'b' }), first);
    assert.notEqual(key({ name: 'a' }), first);
    assert.notEqual(createRepeatKeys()({ name: 'a' }), first);
    assert.equal(key(undefined), key(undefined));
  });
});
