import assert from 'node:assert/strict';
import { isIP } from 'node:net';
import { test } from 'node:test';
import fc from 'fast-check';
import { anyName, fixtureCases, toHex, wireName } from '../../../../test/support/edge/wire/fixtures.ts';
import { WireReader } from '../reader.ts';
import { ipv4ToText, ipv6FromText, ipv6ToText } from './address.ts';
import { aaaaRdata, aRdata, hinfoRdata, nsRdata, soaRdata } from './rdata.ts';

test('rdata, octet for octet', () => {
  const a = wireName('a');
  const cases: readonly (readonly [Uint8Array | null, string])[] = [
    [nsRdata(a), '016100'],
    [aRdata('192.0.2.255'), 'c00002ff'],
    [aaaaRdata('2001:db8::1'), '20010db8000000000000000000000001'],
    [hinfoRdata('RFC8482', ''), '075246433834383200'],
  ];
  for (const [rdata, hex] of cases) assert.equal(toHex(rdata!), hex);
});

test('dotted quads', () => {
  for (const text of ['0.0.0.0', '255.255.255.255', '10.0.200.1'])
    assert.equal(ipv4ToText(aRdata(text)!), text);
  for (const text of [
    '',
    '1.2.3',
    '1.2.3.4.5',
    '1.2.3.256',
    '01.2.3.4',
    '1.2.3.',
    ' 1.2.3.4',
    '1.2.3.0x4',
    '1.2.3.4\n',
  ]) {
    assert.equal(aRdata(text), null, text);
  }
});

test('IPv6 text (ipv6.valid.txt, ipv6.invalid.txt)', () => {
  for (const [text, hex, canonical] of fixtureCases('ipv6.valid.txt')) {
    assert.equal(toHex(ipv6FromText(text)!), hex, text);
    assert.equal(ipv6ToText(ipv6FromText(text)!), canonical, text);
  }
  for (const [text] of fixtureCases('ipv6.invalid.txt')) assert.equal(ipv6FromText(text), null, text);
  assert.equal(ipv6FromText(''), null);
});

test('property: addresses come back from their text, which Node takes for an address too', () => {
  fc.assert(
    fc.property(
      fc.array(fc.constantFrom(0, 0, 1, 0xffff, 0xdb8), { minLength: 8, maxLength: 8 }),
      (groups) => {
        const address = Uint8Array.from(groups.flatMap((group) => [group >>> 8, group & 0xff]));
        const text = ipv6ToText(address);
        assert.equal(isIP(text), 6);
        assert.deepEqual(ipv6FromText(text), address);
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
        assert.equal(ipv6FromText(text) !== null, isIP(text) === 6, text);
      },
    ),
    { numRuns: 2000 },
  );
});

test('property: SOA of any names and numbers reads back', () => {
  const u32 = fc.nat(0xffffffff);
  const soa = fc.record({
    mname: anyName(),
    rname: anyName(),
    serial: u32,
    refresh: u32,
    retry: u32,
    expire: u32,
    minimum: u32,
  });
  fc.assert(
    fc.property(soa, (values) => {
      const reader = new WireReader(soaRdata(values));
      assert.deepEqual(reader.plainName(), values.mname);
      assert.deepEqual(reader.plainName(), values.rname);
      const numbers = Array.from({ length: 5 }, () => reader.u32());
      assert.deepEqual(numbers, [values.serial, values.refresh, values.retry, values.expire, values.minimum]);
      assert.ok(reader.complete);
    }),
  );
});
