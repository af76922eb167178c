import assert from 'node:assert/strict';
import { test } from 'node:test';
import { readAddress } from '../../base/network/address.ts';
import { SocketAddress } from './batch-listener.ts';

const PORT_53 = '0035';
/** A sockaddr as the kernel writes it; family and flow label stay zero, because no code reads them. */
const sockaddr = (port: string, address: string, isIpv6: boolean): Uint8Array => {
  const octets = Buffer.alloc(32, 0xee);
  octets.set(Buffer.from(`0000${port}${isIpv6 ? '00000000' : ''}${address}`, 'hex'));
  return octets;
};
const ZEROS = '0'.repeat(20);

test('an address has the octets that its text has', () => {
  const cases: [octets: string, isIpv6: boolean, text: string][] = [
    ['c0000201', false, '192.0.2.1'],
    ['00000000', false, '0.0.0.0'],
    ['20010db8000000000000000000000001', true, '2001:db8::1'],
    [`${ZEROS}ffffc0000201`, true, '::ffff:192.0.2.1'],
    [`${ZEROS}fffec0000201`, true, '::fffe:c000:201'],
    [`01${ZEROS.slice(2)}ffffc0000201`, true, '100::ffff:c000:201'],
    [`${ZEROS.slice(2)}01ffffc0000201`, true, '::1:ffff:c000:201'],
    ['fe800000000000000000000000000001', true, 'fe80::1%eth0'],
  ];
  for (const [hex, isIpv6, text] of cases) {
    const { ip } = new SocketAddress(sockaddr(PORT_53, hex, isIpv6), isIpv6);
    const [given, read] = [new Uint8Array(16), new Uint8Array(16)];
    assert.equal(readAddress(ip, given), readAddress(text, read), text);
    assert.deepEqual(given, read, text);
  }
});

test('a port of zero is none', () => {
  for (const [port, has] of [
    ['0000', false],
    ['0001', true],
    ['0100', true],
    ['ffff', true],
  ] as const) {
    assert.equal(new SocketAddress(sockaddr(port, 'c0000201', false), false).hasPort, has, port);
  }
});
