import assert from 'node:assert/strict';
import { test } from 'node:test';
import { addressKey, siteKey } from './address-key.ts';

test('IPv4 counts whole, IPv6 by its /64', () => {
  for (const [address, key] of [
    [undefined, 'gone'],
    ['192.0.2.1', '192.0.2.1'],
    ['::ffff:192.0.2.1', '192.0.2.1'],
    ['::FFFF:192.0.2.1', '192.0.2.1'],
    ['::ffff:c000:201', '192.0.2.1'],
    ['no address', 'no address'],
    ['2001:db8:1:2:3:4:5:6', '2001:db8:1:2::/64'],
    ['2001:0db8:0001:0002::', '2001:db8:1:2::/64'],
    ['2001:DB8::1', '2001:db8::/64'],
    ['2001:db8::1:2:3:4', '2001:db8::/64'],
    ['2001:db8::9:1:2:3:4', '2001:db8:0:9::/64'],
    ['2001:db8:1::', '2001:db8:1::/64'],
    ['::1', '::/64'],
    ['::', '::/64'],
    ['fe80::1%eth0', 'fe80::/64'],
    ['64:ff9b::192.0.2.1', '64:ff9b::/64'],
  ] as const) {
    assert.equal(addressKey(address), key);
  }
});

test('an IPv6 address belongs to a /48, an IPv4 address to none', () => {
  for (const [address, key] of [
    [undefined, null],
    ['192.0.2.1', null],
    ['::ffff:192.0.2.1', null],
    ['no address', null],
    ['2001:db8:1:2:3:4:5:6', '2001:db8:1::/48'],
    ['2001:db8:1:ffff:ffff:ffff:ffff:ffff', '2001:db8:1::/48'],
    ['2001:db8:2::', '2001:db8:2::/48'],
    ['fe80::1%eth0', 'fe80::/48'],
  ] as const) {
    assert.equal(siteKey(address), key);
  }
});
