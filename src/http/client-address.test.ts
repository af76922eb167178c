import assert from 'node:assert/strict';
import { test } from 'node:test';
import { clientAddress } from './connections.ts';

const PROXIES = ['127.0.0.1', '10.0.0.0/8', '2001:db8:ffff::/48'];

/** Peer, `X-Forwarded-For`, and the address that counts. */
const TABLE: readonly (readonly [
  peer: string | undefined,
  header: string | undefined,
  counts: string | undefined,
])[] = [
  ['127.0.0.1', undefined, '127.0.0.1'],
  ['127.0.0.1', '192.0.2.1', '192.0.2.1'],
  ['::ffff:127.0.0.1', '192.0.2.1', '192.0.2.1'],
  ['127.0.0.1', '::ffff:192.0.2.1', '192.0.2.1'],
  ['127.0.0.1', '192.0.2.1, 10.1.2.3', '192.0.2.1'],
  ['127.0.0.1', '198.51.100.9,192.0.2.1 ,10.1.2.3, 10.9.9.9', '192.0.2.1'],
  // A client can write anything left of its address.
  ['127.0.0.1', '10.0.0.1, 192.0.2.1', '192.0.2.1'],
  ['127.0.0.1', 'nonsense, 192.0.2.1', '192.0.2.1'],
  ['127.0.0.1', `${'x'.repeat(9000)}, 192.0.2.1`, '192.0.2.1'],
  ['2001:db8:ffff::9', '2001:db8::1', '2001:db8::1'],
  ['10.255.0.1', '[2001:db8::1]:4711', '2001:db8::1'],
  ['10.255.0.1', '192.0.2.1:4711', '192.0.2.1'],
  ['10.255.0.1', 'fe80::1%eth0', 'fe80::1'],
  // All are proxies of ours.
  ['10.255.0.1', '10.0.0.7, 10.0.0.8', '10.0.0.7'],
  // Malformed: the peer counts.
  ['127.0.0.1', '', '127.0.0.1'],
  ['127.0.0.1', ',', '127.0.0.1'],
  ['127.0.0.1', '192.0.2.1,', '127.0.0.1'],
  ['127.0.0.1', 'unknown', '127.0.0.1'],
  ['127.0.0.1', '192.0.2.1, for=1', '127.0.0.1'],
  ['127.0.0.1', '192.0.2.999', '127.0.0.1'],
  ['127.0.0.1', '192.0.2.1:4711x', '127.0.0.1'],
  ['127.0.0.1', '192.0.2.1 192.0.2.2', '127.0.0.1'],
  // An untrusted peer's header is ignored.
  ['192.0.2.7', '198.51.100.1', '192.0.2.7'],
  ['2001:db8::7', '198.51.100.1', '2001:db8::7'],
  ['11.0.0.1', '10.0.0.1', '11.0.0.1'],
  [undefined, '198.51.100.1', undefined],
];

test('behind trusted proxies the right-most address that is none of them counts', () => {
  const find = clientAddress(PROXIES);
  for (const [peer, header, counts] of TABLE)
    assert.equal(find(peer, header), counts, `${peer} <- ${header}`);
});

test('without trusted proxies X-Forwarded-For is ignored', () => {
  const find = clientAddress([]);
  for (const [peer, header] of TABLE) assert.equal(find(peer, header), peer);
});
