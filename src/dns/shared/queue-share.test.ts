import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parseAddress } from '../../base/network/address.ts';
import { QUEUE_SHARES } from './handler.ts';
import { queueShare } from './listener.ts';

test('one source has one share, in whatever form its address comes', () => {
  const same: readonly (readonly [string, string])[] = [
    ['192.0.2.1', '::ffff:192.0.2.1'],
    ['2001:db8:1:100::1', '2001:db8:1:1ff:ffff::2'],
  ];
  for (const [a, b] of same) assert.equal(queueShare(a), queueShare(b), `${a} ${b}`);
  for (const text of ['192.0.2.1', '2001:db8::1']) {
    assert.equal(queueShare(text), queueShare(parseAddress(text)!), text);
  }
});

test('sources spread over all shares', () => {
  const shares = new Set<number>();
  for (let i = 0; i < 256; i++) {
    for (let j = 0; j < 16; j++) {
      shares.add(queueShare(`192.0.${i}.${j}`));
      shares.add(queueShare(`2001:db8:${i.toString(16)}:${j.toString(16)}00::1`));
    }
  }
  assert.deepEqual(
    [...shares].sort((a, b) => a - b),
    Array.from({ length: QUEUE_SHARES }, (_, share) => share),
  );
});
