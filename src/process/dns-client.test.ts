import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type DsAnswer, startDsResolver } from '../../test/support/process/ds-resolver.ts';
import { dsSeenBy, resolversOf } from './dns-client.ts';

test('the DS of a zone are those that a resolver gives over TCP; an error or silence is no answer', async () => {
  const line = `7 13 2 ${'AB'.repeat(32)}`;
  const answers: Readonly<Record<string, DsAnswer>> = {
    'a.example': [line],
    'none.example': [],
    'broken.example': 'SERVFAIL',
  };
  const resolver = await startDsResolver((zone) => answers[zone]!);
  try {
    assert.deepEqual(await dsSeenBy(resolver.address, 'a.example'), [line]);
    assert.deepEqual(await dsSeenBy(resolver.address, 'none.example'), []);
    assert.equal(await dsSeenBy(resolver.address, 'broken.example'), null);
    assert.equal(await dsSeenBy('127.0.0.1:1', 'a.example'), null);
  } finally {
    resolver.stop();
  }
});

test('configured resolvers replace those of the system', () => {
  assert.deepEqual(resolversOf(['192.0.2.1:5353']), ['192.0.2.1:5353']);
  assert.ok(resolversOf([]).every((address) => address !== ''));
});
