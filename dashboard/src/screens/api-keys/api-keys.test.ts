import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { endAfter, hasEnded, keyCommand, keyWords, operationWords } from './key-words.ts';

const API = 'http://localhost:8080/api/v1';

describe('what an API key can do', () => {
  it('is said in words', () => {
    const all = keyWords({ operations: [], namespaces: [] });
    assert.match(all[0] ?? '', /reads and writes .* all of your namespaces/i);
    const some = keyWords({ operations: ['read'], namespaces: ['acme', 'beta'] });
    assert.match(some[0] ?? '', /reads .* acme and beta/i);
    assert.doesNotMatch(some[0] ?? '', /writes/);
    assert.equal(some.length, all.length + 1);
    assert.deepEqual(
      [[], ['read', 'write'], ['write'], ['read']].map((operations) => operationWords(operations as never)),
      ['Reads and writes', 'Reads and writes', 'Writes', 'Reads'],
    );
  });

  it('is tried by a command that it may do, with the key in a variable', () => {
    assert.equal(
      keyCommand(API, { operations: [], namespaces: [] }),
      `echo "Authorization: Bearer $UQRP_TOKEN" | curl -H @- -s "${API}/records?limit=10"`,
    );
    assert.match(keyCommand(API, { operations: ['read'], namespaces: ['acme'] }), /&namespace=acme"/);
    const write = keyCommand(API, { operations: ['write'], namespaces: ['acme'] });
    assert.match(write, /\$UQRP_TOKEN.*\n.*-d '\{"record":\{"key":"greeting\.acme\.v1"/);
  });
});

describe('the end of an API key', () => {
  const now = Date.parse('2026-11-22T12:00:00.000Z');
  it('is a number of days away, or never', () => {
    assert.equal(endAfter(30, now), '2026-12-22T12:00:00.000Z');
    assert.equal(endAfter(null, now), null);
  });
  it('has come when it is not in the future', () => {
    const ends = [null, '2026-11-22T12:00:00.000Z', '2026-11-22T12:00:00.001Z'];
    assert.deepEqual(
      ends.map((expires_at) => hasEnded({ expires_at }, now)),
      [false, true, false],
    );
  });
});
