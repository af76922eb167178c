import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { ipv4ToText, ipv6ToText } from '../../wire/rdata/address.ts';
import { readAddress } from './peer-address.ts';

function read(address: string): string | null {
  const octets = new Uint8Array(16);
  const length = readAddress(address, octets);
  return length === 0 ? null : Buffer.from(octets.subarray(0, length)).toString('hex');
}

test('addresses as the operating system writes them', () => {
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

test('every address comes back', () => {
  const octets = fc.oneof(fc.constant(0), fc.integer({ min: 0, max: 255 }));
  fc.assert(
    fc.property(fc.array(octets, { minLength: 16, maxLength: 16 }), (list) => {
      const address = Uint8Array.from(list);
      const v4 = address.subarray(0, 4);
      assert.equal(read(ipv4ToText(v4)), Buffer.from(v4).toString('hex'));
      const text = ipv6ToText(address);
      const isMapped = text.startsWith('::ffff:') && text.includes('.');
      assert.equal(read(text), Buffer.from(isMapped ? address.subarray(12) : address).toString('hex'));
    }),
  );
});
