import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { type HeaderParts, headerOf, proxyHeader, tlv } from '../../../test/support/dns/proxy.ts';
import { LIMITS } from '../../base/limits.ts';
import { addressSet, formatAddress } from '../../base/network/address.ts';
import {
  DatagramHeaders,
  NO_HEADER,
  PARTIAL_HEADER,
  proxyHeaderOctets,
  readProxiedAddress,
} from './proxy-header.ts';

const found = (octets: Uint8Array): number => proxyHeaderOctets(octets, octets.length);

/** The text of the client; null: the header names none. */
function clientOf(header: Uint8Array): string | null {
  const into = new Uint8Array(16);
  const length = readProxiedAddress(header, into);
  return length === 0 ? null : formatAddress(into.subarray(0, length));
}

test('a header as haproxy sends it', () => {
  const header = Buffer.from('0d0a0d0a000d0a515549540a2111000cac130001ac130003a6520050', 'hex');
  assert.equal(found(Buffer.concat([header, Buffer.from('GET /')])), header.length);
  assert.equal(clientOf(header), '172.19.0.1');
});

test('property: every address comes back, whatever follows; each beginning is partial', () => {
  const address = fc.oneof(fc.ipV4(), fc.ipV6());
  const tlvs = fc.array(
    fc.tuple(fc.constantFrom(1, 2, 4, 5, 0x20, 0x30, 0xe0), fc.uint8Array({ maxLength: 30 })),
    { maxLength: 5 },
  );
  fc.assert(
    fc.property(
      address,
      tlvs,
      fc.constantFrom(1, 2),
      fc.uint8Array({ maxLength: 40 }),
      (text, list, protocol, rest) => {
        const header = proxyHeader(
          text,
          Buffer.concat(list.map(([type, value]) => tlv(type, value))),
          protocol,
        );
        assert.equal(found(Buffer.concat([header, rest])), header.length);
        const own = clientOf(header)!;
        assert.equal(clientOf(proxyHeader(own)), own);
        if (!text.includes(':')) assert.equal(own, text);
        for (let end = 0; end < header.length; end++)
          assert.equal(found(header.subarray(0, end)), PARTIAL_HEADER, `${end} of ${header.length}`);
      },
    ),
    { numRuns: 200 },
  );
});

test('property: random octets, and headers with changed ones, are read without a fault and never beyond the limit', () => {
  const header = proxyHeader('2001:db8::1', tlv(4, Buffer.alloc(9)));
  const change = fc.tuple(fc.nat(header.length - 1), fc.nat(255));
  fc.assert(
    fc.property(fc.oneof(fc.uint8Array({ maxLength: 600 }), fc.array(change, { maxLength: 4 })), (input) => {
      const octets = Buffer.from(input instanceof Uint8Array ? input : header);
      if (!(input instanceof Uint8Array)) for (const [at, octet] of input) octets[at] = octet;
      const length = found(octets);
      assert.ok(length >= NO_HEADER && length <= LIMITS.proxyHeader && length <= octets.length);
      if (length > 0) clientOf(octets);
    }),
    { numRuns: 2000 },
  );
});

test('an IPv4-mapped client counts as its IPv4 address', () => {
  assert.equal(clientOf(proxyHeader('::ffff:192.0.2.9')), '192.0.2.9');
  assert.equal(clientOf(proxyHeader('::fffe:c000:209')), '::fffe:c000:209');
});

test('what names no client: LOCAL, an unknown family or protocol, Unix sockets', () => {
  const local = { command: 0x20, family: 0, block: Buffer.alloc(0) };
  const nobody: HeaderParts[] = [
    local,
    { ...local, family: 0x11, block: Buffer.alloc(12, 7) },
    // A family that only LOCAL may have, and what would be no TLVs.
    { ...local, family: 0x99, block: Buffer.from('ffff', 'hex') },
    { family: 0, block: Buffer.alloc(0) },
    { family: 0x01, block: Buffer.alloc(0) },
    { family: 0x10, block: Buffer.alloc(12, 7) },
    { family: 0x31, block: Buffer.alloc(216, 7) },
    { family: 0x32, block: Buffer.alloc(216, 7) },
  ];
  for (const parts of nobody) {
    const header = headerOf(parts);
    assert.equal(found(header), header.length, JSON.stringify(parts));
    assert.equal(clientOf(header), null, JSON.stringify(parts));
  }
});

test('what is no header', () => {
  const wrong: (HeaderParts | Buffer)[] = [
    Buffer.from('PROXY TCP4 192.0.2.1 192.0.2.2 4711 53\r\n'),
    { command: 0x11 },
    { command: 0x22 },
    { command: 0x31 },
    { family: 0x41, block: Buffer.alloc(36) },
    { family: 0x13 },
    { block: Buffer.alloc(11) },
    { family: 0x21, block: Buffer.alloc(35) },
    { family: 0x31, block: Buffer.alloc(215) },
    { tlvs: Buffer.of(4, 0) },
    { tlvs: Buffer.of(4, 0, 2, 1) },
    { tlvs: tlv(3, Buffer.alloc(3)) },
    { tlvs: tlv(3, Buffer.alloc(5)) },
  ];
  for (const parts of wrong)
    assert.equal(found(Buffer.isBuffer(parts) ? parts : headerOf(parts)), NO_HEADER, JSON.stringify(parts));
});

test('a wrong octet is reported before the header is whole', () => {
  const header = proxyHeader('192.0.2.1');
  for (let at = 0; at < 12; at++) {
    const octets = Buffer.from(header.subarray(0, at + 1));
    octets[at]! ^= 1;
    assert.equal(found(octets), NO_HEADER, `${at}`);
  }
  assert.equal(found(headerOf({ command: 0x11 }).subarray(0, 13)), NO_HEADER);
  assert.equal(found(headerOf({ length: 11 }).subarray(0, 16)), NO_HEADER);
});

test('both sides of proxyHeader', () => {
  const room = LIMITS.proxyHeader - proxyHeader('192.0.2.1').length - 3;
  const longest = proxyHeader('192.0.2.1', tlv(4, Buffer.alloc(room)));
  assert.equal(longest.length, LIMITS.proxyHeader);
  assert.equal(found(longest), LIMITS.proxyHeader);
  assert.equal(found(proxyHeader('192.0.2.1', tlv(4, Buffer.alloc(room + 1)))), NO_HEADER);
  // Not even waited for.
  assert.equal(found(headerOf({ length: LIMITS.proxyHeader - 15 }).subarray(0, 16)), NO_HEADER);
});

test('a checksum must be right, wherever it stands', () => {
  // By table, apart from the implementation. RFC 3720 appendix B.4: 32 zeros give 0x8a9136aa.
  const table = Array.from({ length: 256 }, (_, octet) => {
    let crc = octet;
    for (let bit = 0; bit < 8; bit++) crc = crc & 1 ? (crc >>> 1) ^ 0x82f63b78 : crc >>> 1;
    return crc >>> 0;
  });
  const crc32c = (octets: Uint8Array): number =>
    (octets.reduce((crc, octet) => table[(crc ^ octet) & 0xff]! ^ (crc >>> 8), -1) ^ -1) >>> 0;
  assert.equal(crc32c(new Uint8Array(32)), 0x8a9136aa);
  for (const [before, after] of [
    [[], []],
    [[tlv(4, Buffer.from('x'))], []],
    [[tlv(1, Buffer.from('dot'))], [tlv(0xe0, Buffer.from('y'))]],
  ] as const) {
    const header = proxyHeader('192.0.2.1', Buffer.concat([...before, tlv(3, Buffer.alloc(4)), ...after]));
    const at = 28 + Buffer.concat(before).length + 3;
    header.writeUInt32BE(crc32c(header), at);
    assert.equal(found(header), header.length);
    for (const i of [17, 20, at, at + 3]) {
      const changed = Buffer.from(header);
      changed[i]! ^= 0x10;
      assert.equal(found(changed), NO_HEADER, `octet ${i}`);
    }
  }
});

test('a second checksum is refused, also where both are right: each costs a pass over the header', () => {
  // Each is right where its own octets, and not those of the other, count as zeros.
  const both = Buffer.from(
    '0d0a0d0a000d0a515549540a2111001ac00002010000000000000000030004bdc823a503000462201f99',
    'hex',
  );
  assert.equal(found(both), NO_HEADER);
});

test('a datagram of a proxy must have a whole header, one of anyone else has none', () => {
  const headers = new DatagramHeaders(addressSet(['10.0.0.0/8']));
  const read = (datagram: Uint8Array, peer: string) => [
    headers.read(datagram, datagram.length, peer),
    typeof headers.client === 'string' ? headers.client : formatAddress(headers.client),
  ];
  const header = proxyHeader('192.0.2.1');
  assert.deepEqual(read(header, '10.1.2.3'), [28, '192.0.2.1']);
  assert.deepEqual(read(proxyHeader('2001:db8::1'), '10.1.2.3'), [52, '2001:db8::1']);
  assert.deepEqual(read(header, '11.1.2.3'), [0, '11.1.2.3']);
  assert.deepEqual(read(header.subarray(0, 27), '10.1.2.3')[0], NO_HEADER);
  assert.deepEqual(read(Buffer.alloc(40), '10.1.2.3')[0], NO_HEADER);
  const local = headerOf({ command: 0x20, family: 0, block: Buffer.alloc(0) });
  assert.deepEqual(read(local, '10.1.2.3'), [16, '10.1.2.3']);
});
