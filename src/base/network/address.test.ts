import assert from 'node:assert/strict';
import { BlockList, isIP } from 'node:net';
import { test } from 'node:test';
import fc from 'fast-check';
import { fixtureCases, toHex } from '../../../test/support/protocol/dns/fixtures.ts';
import {
  addressSet,
  formatAddress,
  isNetwork,
  networkOf,
  parseAddress,
  parseIpv6,
  readAddress,
  withoutMapping,
} from './address.ts';

function read(address: string): string | null {
  const octets = new Uint8Array(16);
  const length = readAddress(address, octets);
  return length === 0 ? null : Buffer.from(octets.subarray(0, length)).toString('hex');
}

test('peers, as the operating system writes them', () => {
  for (const [address, expected] of [
    ['192.0.2.1', 'c0000201'],
    ['255.255.255.255', 'ffffffff'],
    ['0.0.0.0', '00000000'],
    ['::ffff:192.0.2.1', 'c0000201'],
    ['::1', `${'0'.repeat(31)}1`],
    ['::', '0'.repeat(32)],
    ['2001:db8::', `20010db8${'0'.repeat(24)}`],
    ['1:2:3:4:5:6:7:8', '00010002000300040005000600070008'],
    ['1::3:4:5:6:7:8', '00010000000300040005000600070008'],
    ['fe80::1%eth0', `fe80${'0'.repeat(27)}1`],
    ['::192.0.2.1', `${'0'.repeat(24)}c0000201`],
    ['2001:DB8::1', `20010db8${'0'.repeat(23)}1`],
    ['', null],
    ['1.2.3', null],
    ['1.2.3.4.5', null],
    ['1.2.3.x', null],
    ['1:2:3', null],
    ['1:2:3:4:5:6:7:8:9', null],
    ['::g', null],
  ] as const) {
    assert.equal(read(address), expected, address);
  }
});

test('every peer address is read as it was written', () => {
  const octets = fc.oneof(fc.constant(0), fc.integer({ min: 0, max: 255 }));
  fc.assert(
    fc.property(fc.array(octets, { minLength: 16, maxLength: 16 }), (list) => {
      const address = Uint8Array.from(list);
      const v4 = address.subarray(0, 4);
      assert.equal(read(formatAddress(v4)), Buffer.from(v4).toString('hex'));
      const text = formatAddress(address);
      const isMapped = text.startsWith('::ffff:') && text.includes('.');
      assert.equal(read(text), Buffer.from(isMapped ? address.subarray(12) : address).toString('hex'));
    }),
  );
});

test('IPv6 text (ipv6.valid.txt, ipv6.invalid.txt)', () => {
  for (const [text, hex, canonical] of fixtureCases('ipv6.valid.txt')) {
    assert.equal(toHex(parseIpv6(text)!), hex, text);
    assert.equal(formatAddress(parseIpv6(text)!), canonical, text);
  }
  for (const [text] of fixtureCases('ipv6.invalid.txt')) assert.equal(parseIpv6(text), null, text);
  assert.equal(parseIpv6(''), null);
});

test('property: addresses come back from their text, which Node takes for an address too', () => {
  fc.assert(
    fc.property(
      fc.array(fc.constantFrom(0, 0, 1, 0xffff, 0xdb8), { minLength: 8, maxLength: 8 }),
      (groups) => {
        const address = Uint8Array.from(groups.flatMap((group) => [group >>> 8, group & 0xff]));
        const text = formatAddress(address);
        assert.equal(isIP(text), 6);
        assert.deepEqual(parseIpv6(text), address);
      },
    ),
  );
});

test('property: what we take for IPv6, Node does as well, and the other way round', () => {
  const piece = fc.constantFrom(':', '::', '0', '1', 'ffff', '12345', '.', '1.2.3.4', 'g');
  fc.assert(
    fc.property(
      fc.oneof(
        fc.ipV6(),
        fc.array(piece, { maxLength: 17 }).map((pieces) => pieces.join('')),
      ),
      (text) => {
        assert.equal(parseIpv6(text) !== null, isIP(text) === 6, text);
      },
    ),
    { numRuns: 2000 },
  );
});

test('text that is no plain address is not read', () => {
  for (const text of [
    '',
    '1.2.3',
    '01.2.3.4',
    '1.2.3.256',
    '0x7f.0.0.1',
    '127.1',
    '1.2.3.4\n',
    '1.2.3.4\0',
    '::1%eth0',
    'a',
  ]) {
    assert.equal(parseAddress(text), null, text);
  }
  assert.equal(formatAddress(parseAddress('192.0.2.1')!), '192.0.2.1');
});

test('an IPv4-compatible address is not taken for an IPv4-mapped one', () => {
  assert.equal(toHex(parseAddress('::192.0.2.1')!), `${'0'.repeat(24)}c0000201`);
  assert.deepEqual(withoutMapping(parseAddress('::192.0.2.1')!), parseAddress('::c000:201'));
  assert.deepEqual(withoutMapping(parseAddress('::ffff:c000:201')!), parseAddress('192.0.2.1'));
});

test('networks: both sides of every rule', () => {
  for (const text of [
    '10.0.0.0/8',
    '192.0.2.1',
    '::1',
    '2001:db8::/32',
    '0.0.0.0/0',
    '192.0.2.1/32',
    '::/128',
  ])
    assert.equal(isNetwork(text), true, text);
  for (const text of [
    '',
    '10.0.0.0/33',
    '::/129',
    '10.0.0.0/',
    '10.0.0.0/-1',
    '10/8',
    '::1/64/64',
    'fe80::1%eth0',
    'x/8',
  ])
    assert.equal(isNetwork(text), false, text);
});

test('a set holds its networks to the bit, and IPv4 when it is mapped', () => {
  const has = addressSet(['10.0.0.0/8', '192.0.2.128/25', '2001::/23', '3fff::/20', '::1']);
  for (const text of [
    '10.255.255.255',
    '192.0.2.128',
    '::ffff:10.0.0.1',
    '2001:1ff:ffff::',
    '3fff:0fff::1',
    '::1',
  ])
    assert.equal(has(text), true, text);
  for (const text of [
    '11.0.0.0',
    '192.0.2.127',
    '::ffff:11.0.0.1',
    '2001:200::',
    '3fff:1000::',
    '::2',
    '',
    'x',
    '10.0.0',
  ])
    assert.equal(has(text), false, text);
});

test('property: a set says of the addresses of its family what a BlockList of Node says, as text and as octets', () => {
  const bits = fc.nat(128);
  for (const [family, octets, max] of [
    ['ipv4', 4, 32],
    ['ipv6', 16, 128],
  ] as const) {
    const address = fc.array(fc.constantFrom(0, 0, 1, 0x80, 0xff), { minLength: octets, maxLength: octets });
    fc.assert(
      fc.property(address, bits, address, (network, length, asked) => {
        const prefix = length % (max + 1);
        const own = Uint8Array.from(asked);
        const blocks = new BlockList();
        blocks.addSubnet(formatAddress(Uint8Array.from(network)), prefix, family);
        const expected = blocks.check(formatAddress(own), family);
        const has = addressSet([`${formatAddress(Uint8Array.from(network))}/${prefix}`]);
        assert.deepEqual([has(formatAddress(own)), has(own)], [expected, expected]);
      }),
      { numRuns: 500 },
    );
  }
});

test('an IPv6 network holds no IPv4 address, mapped or not; a mapped network is one of IPv4', () => {
  const all = addressSet(['::/0', '0.0.0.0/32']);
  assert.deepEqual(['::1', '10.0.0.1', '::ffff:10.0.0.1'].map(all), [true, false, false]);
  const mapped = addressSet(['::ffff:10.0.0.0/104']);
  assert.deepEqual(['10.1.2.3', '::ffff:10.1.2.3', '11.0.0.0', '::a00:1'].map(mapped), [
    true,
    true,
    false,
    false,
  ]);
  for (const text of ['10.0.0.0/33', 'x', '']) assert.throws(() => addressSet([text]), TypeError);
});

test('the network of an address', () => {
  assert.equal(networkOf(parseAddress('2001:db8:1:2:3:4:5:6')!, 64), '2001:db8:1:2::/64');
  assert.equal(networkOf(parseAddress('192.0.2.77')!, 24), '192.0.2.0/24');
});
