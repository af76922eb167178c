import assert from 'node:assert/strict';
import { test } from 'node:test';
import { fromHex, toHex } from '../../../test/support/protocol/dns/fixtures.ts';
import { WireReader } from './reader.ts';

test('fields one after the other, from the first octet to the last', () => {
  const reader = new WireReader(fromHex('fffefdfc 8001 7f 0161 6162 016100 99'));
  assert.deepEqual([reader.u32(), reader.u16(), reader.u8()], [0xfffefdfc, 0x8001, 0x7f]);
  assert.equal(toHex(reader.characterString()), '61');
  assert.equal(toHex(reader.bytes(2)), '6162');
  assert.equal(toHex(reader.plainName()), '016100');
  assert.equal(reader.complete, false);
  assert.equal(toHex(reader.rest()), '99');
  assert.equal(reader.complete, true);
});

const READS: readonly (readonly [string, string, (reader: WireReader) => unknown])[] = [
  ['u8', '', (reader) => reader.u8()],
  ['u16', 'ff', (reader) => reader.u16()],
  ['u32', 'ffffff', (reader) => reader.u32()],
  ['bytes', 'ff', (reader) => reader.bytes(2).length],
  ['characterString', '0261', (reader) => reader.characterString().length],
  ['name', '0161', (reader) => reader.name().length],
  ['plainName', '0161', (reader) => reader.plainName().length],
  ['plainName with a pointer', 'c000', (reader) => reader.plainName().length],
];

test('a read past the end answers nothing and fails the reader for good', () => {
  for (const [label, hex, read] of READS) {
    // There is more in the buffer, but not for this reader.
    const octets = fromHex(`${hex} 00000000`);
    const reader = new WireReader(octets, 0, octets.length - 4);
    assert.equal(read(reader), 0, label);
    assert.equal(reader.failed, true, label);
    assert.equal(reader.rest().length, 0, label);
    assert.equal(reader.name().length, 0, label);
    assert.equal(reader.complete, false, label);
  }
});
