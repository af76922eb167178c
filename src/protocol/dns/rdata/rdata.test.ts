import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { anyName, toHex, wireName } from '../../../../test/support/protocol/dns/fixtures.ts';
import { formatAddress } from '../../../base/network/address.ts';
import { WireReader } from '../reader.ts';
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
    assert.equal(formatAddress(aRdata(text)!), text);
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
