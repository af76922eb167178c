import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { fromHex } from '../../../../test/support/protocol/dns/fixtures.ts';
import { txtChunks, txtStrings, txtValue } from './rdata.ts';

test('a value is cut into strings of at most 255 octets', () => {
  const cases: readonly (readonly [number, readonly number[]])[] = [
    [0, [0]],
    [1, [1]],
    [254, [254]],
    [255, [255]],
    [256, [255, 1]],
    [510, [255, 255]],
    [511, [255, 255, 1]],
    [65000, [...Array.from({ length: 254 }, () => 255), 230]],
  ];
  for (const [octets, lengths] of cases) {
    const rdata = txtChunks(new Uint8Array(octets).fill(7));
    assert.deepEqual(
      txtStrings(rdata)?.map((string) => string.length),
      lengths,
    );
  }
});

test('rdata that is not TXT', () => {
  for (const hex of ['', '01', '0261', '016102', 'ff']) assert.equal(txtValue(fromHex(hex)), null, hex);
  assert.deepEqual(txtValue(fromHex('00')), new Uint8Array(0));
  assert.deepEqual(txtValue(fromHex('0161 00 0162')), fromHex('6162'));
});

test('property: any value comes back', () => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 2000 }), (value) => {
      assert.deepEqual(txtValue(txtChunks(value)), value);
    }),
  );
});
