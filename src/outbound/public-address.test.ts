import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { parseAddress } from '../base/network/address.ts';
import { isPublicAddress } from './target.ts';

/** Both sides of every block's ends, the disguises of IPv4 in IPv6, and metadata addresses by name. */
const PUBLIC = `
  1.0.0.0 1.1.1.1 8.8.8.8 9.9.9.9 9.255.255.255 11.0.0.0 100.63.255.255 100.128.0.0 126.255.255.255 128.0.0.0
  168.63.129.15 168.63.129.17 169.253.255.255 169.255.0.0 172.15.255.255 172.32.0.0 191.255.255.255 192.0.1.0 192.0.1.255
  192.0.3.0 192.31.195.255 192.31.197.0 192.52.192.255 192.52.194.0 192.88.98.255 192.88.100.0 192.167.255.255 192.169.0.0
  192.175.47.255 192.175.49.0 198.17.255.255 198.20.0.0 198.51.99.255 198.51.101.0 203.0.112.255 203.0.114.0 223.255.255.255
  2001:200:: 2001:4860:4860::8888 2001:db7:ffff:ffff:ffff:ffff:ffff:ffff 2001:db9:: 2001:ffff:: 2003:: 2400:cb00::1
  2606:4700:4700::1111 2620:4f:7fff:: 2620:4f:8001:: 2620:fe::fe 2a00:1450:4001::1 2a03:2880::1
  3ffd:ffff:: 3fff:1000::
`;

const PRIVATE = `
  0.0.0.0 0.255.255.255 10.0.0.0 10.255.255.255 100.64.0.0 100.100.100.200 100.127.255.255 127.0.0.1 127.255.255.255
  168.63.129.16 169.254.0.0 169.254.169.254 169.254.170.2 169.254.255.255 172.16.0.0 172.31.255.255 192.0.0.0 192.0.0.170
  192.0.0.192 192.0.0.255 192.0.2.0 192.0.2.255 192.31.196.1 192.52.193.1 192.88.99.1 192.168.0.0 192.168.255.255
  192.175.48.1 198.18.0.0 198.19.255.255 198.51.100.0 198.51.100.255 203.0.113.0 203.0.113.255 224.0.0.0 224.0.0.251
  239.255.255.255 240.0.0.0 254.1.1.1 255.255.255.255
  :: ::1 ::2 ::127.0.0.1 ::8.8.8.8 ::ffff:127.0.0.1 ::ffff:8.8.8.8 ::ffff:7f00:1 ::ffff:a9fe:a9fe 0:0:0:0:0:ffff:1.1.1.1
  ::ffff:0:127.0.0.1 ::ffff:0:8.8.8.8 64:ff9b::8.8.8.8 64:ff9b::7f00:1 64:ff9b::a9fe:a9fe 64:ff9b:1::1 100::1 100:0:0:1::1
  1fff:ffff:: 2001:: 2001:0:4136:e378:8000:63bf:3fff:fdd2 2001:2::1 2001:3::1 2001:4:112::1 2001:10::1 2001:20::1 2001:1ff::
  2001:db8:: 2001:db8:ffff:ffff:ffff:ffff:ffff:ffff 2002:: 2002:7f00:1::1 2002:a9fe:a9fe:: 2002:808:808::1
  2620:4f:8000::1 3ffe::1 3fff::1 3fff:fff:ffff:: 2a00::5efe:10.0.0.1 2a00::200:5efe:192.168.0.1 4000:: 5f00::1 8000::
  fc00::1 fd00:ec2::254 fd20:ce::254 fdff:ffff:: fe80::1 febf::1 fec0::1 feff::1 ff00::1 ff02::1 ff0e::1
  2606:4700:4700::1111%eth0 fe80::1%1
`;

const NO_ADDRESS = [
  '',
  ' ',
  'localhost',
  '1',
  '127.1',
  '2130706433',
  '0x7f.0.0.1',
  '0177.0.0.1',
  '8.8.8',
  '8.8.8.8.',
  '8.8.8.8:53',
  '08.8.8.8',
  '8.8.8.256',
  '８.8.8.8',
  ' 8.8.8.8',
  '[2606:4700:4700::1111]',
  '2606:4700:4700::1111/64',
  '2606::4700::1111',
  ':::1',
];

const words = (table: string): string[] => table.trim().split(/\s+/);

describe('isPublicAddress', () => {
  it('admits public addresses', () => {
    for (const address of words(PUBLIC)) assert.equal(isPublicAddress(address), true, address);
  });

  it('denies everything else', () => {
    for (const address of [...words(PRIVATE), ...NO_ADDRESS]) {
      assert.equal(isPublicAddress(address), false, address);
    }
  });

  it('denies every IPv6 spelling of an IPv4 address, public or not', () => {
    const octet = fc.integer({ min: 0, max: 255 });
    const wrappers = ['::', '::ffff:', '::ffff:0:', '64:ff9b::', '2001:db8::', '2a00::5efe:'];
    fc.assert(
      fc.property(fc.constantFrom(...wrappers), fc.tuple(octet, octet, octet, octet), (wrapper, octets) => {
        assert.equal(isPublicAddress(wrapper + octets.join('.')), false);
      }),
    );
  });

  it('says the same of every spelling', () => {
    fc.assert(
      fc.property(fc.ipV6(), (text) => {
        const octets = parseAddress(text);
        assert.ok(octets !== null);
        const full = Buffer.from(octets)
          .toString('hex')
          .replace(/(....)(?=.)/g, '$1:');
        assert.equal(isPublicAddress(full), isPublicAddress(text));
        assert.equal(isPublicAddress(full.toUpperCase()), isPublicAddress(text));
      }),
    );
  });
});
