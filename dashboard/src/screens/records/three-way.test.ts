import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { changedFields, differences, type Editable, isConflict, merged } from './three-way.ts';

const base: Editable = {
  data: 'YQ==',
  content_type: 'text/plain',
  encoding: 'b64',
  ttl_seconds: 300,
  expires_at: null,
};

describe('two people change one record', () => {
  it('sees who changed what', () => {
    const mine = { ...base, data: 'Yg==', ttl_seconds: 60 };
    const theirs = { ...base, data: 'Yw==', ttl_seconds: 60, expires_at: '2030-01-01T00:00:00.000Z' };
    const found = differences(base, mine, theirs);
    assert.deepEqual(
      found.map(({ field, by }) => [field, by]),
      [
        ['data', 'both'],
        ['ttl_seconds', 'same'],
        ['expires_at', 'theirs'],
      ],
    );
    assert.ok(isConflict(found));
    assert.deepEqual(merged(base, mine, theirs, new Map([['data', 'theirs']])), theirs);
    assert.deepEqual(merged(base, mine, theirs, new Map()), { ...theirs, data: 'Yg==' });
  });

  it('is no conflict when nobody else changed anything, or both the same', () => {
    const mine = { ...base, ttl_seconds: 0 };
    assert.ok(!isConflict(differences(base, mine, base)));
    assert.ok(!isConflict(differences(base, mine, mine)));
    assert.deepEqual(merged(base, mine, base, new Map()), mine);
  });

  it('names the fields that a save has to send', () => {
    assert.deepEqual(changedFields(base, base), []);
    assert.deepEqual(changedFields({ ...base, expires_at: '2030-01-01T00:00:00.000Z' }, base), [
      'expires_at',
    ]);
    assert.deepEqual(changedFields(base, { ...base, ttl_seconds: 0 }), ['ttl_seconds']);
    const plain: Editable = { ...base, encoding: 'plain' };
    assert.deepEqual(changedFields(base, plain), ['encoding']);
    assert.deepEqual(merged(base, { ...base, data: 'Yg==' }, plain, new Map()), { ...plain, data: 'Yg==' });
  });
});
