import assert from 'node:assert/strict';
import { test } from 'node:test';
import { addressKey, networksOf, siteKey } from './address.ts';

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

test('connections count with their neighbours: /24 and address, /48 and /56', () => {
  const same = (one: string, other: string): readonly boolean[] => {
    const networks = networksOf(other);
    return networksOf(one).map((name, level) => name === networks[level]);
  };
  for (const [one, other, are] of [
    ['192.0.2.1', '192.0.2.1', [true, true]],
    ['192.0.2.1', '::ffff:192.0.2.1', [true, true]],
    ['192.0.2.1', '192.0.2.2', [true, false]],
    ['192.0.2.1', '192.0.3.1', [false, false]],
    ['2001:db8:1:100::1', '2001:db8:1:1ff::2%eth0', [true, true]],
    ['2001:db8:1:100::1', '2001:db8:1:200::1', [true, false]],
    ['2001:db8:1:100::1', '2001:db8:2:100::1', [false, false]],
  ] as const)
    assert.deepEqual(same(one, other), are, `${one} ${other}`);
  assert.deepEqual(networksOf(undefined), ['gone']);
  assert.deepEqual(networksOf('no address'), ['no address']);
  // No network of one kind has the name of one of another kind.
  const names = ['1.2.3.4', '1.2.3.0', '102:304:506:708::', '0102:0304::'].map(networksOf);
  assert.equal(new Set(names.flatMap((all) => all.map((name, level) => `${level} ${name}`))).size, 7);
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
