import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import {
  anyName,
  fromHex,
  nameOfLabels,
  toHex,
  wireName,
} from '../../../test/support/protocol/dns/fixtures.ts';
import { readName } from './name.ts';
import { MessageWriter } from './writer.ts';

function afterHeader(): MessageWriter {
  const writer = new MessageWriter();
  writer.bytes(new Uint8Array(12));
  return writer;
}

test('fields are big-endian and the buffer grows', () => {
  const writer = new MessageWriter(1);
  writer.u8(0x01);
  writer.u16(0x0203);
  writer.u32(0xfffefdfc);
  writer.bytes(Uint8Array.of(9, 8));
  writer.patch16(1, 0x1111);
  assert.equal(toHex(writer.finish()), '011111fffefdfc0908');
  assert.equal(writer.length, 9);
});

test('a message ends at 65535 octets', () => {
  const writer = new MessageWriter();
  writer.bytes(new Uint8Array(65535));
  assert.throws(() => writer.u8(0), RangeError);
  assert.equal(writer.length, 65535);
  assert.throws(() => writer.patch16(65534, 0), RangeError);
});

test('finish is a copy, view is not', () => {
  const writer = new MessageWriter();
  writer.u16(0xabcd);
  const [view, copy] = [writer.view(), writer.finish()];
  writer.patch16(0, 0);
  assert.deepEqual([...view], [0, 0]);
  assert.deepEqual([...copy], [0xab, 0xcd]);
});

test('the longest known suffix becomes a pointer', () => {
  const writer = afterHeader();
  const texts = ['www.example.com', 'mail.example.com', 'example.com', 'www.example.com', '.', 'org'];
  // The last one's target ends in a pointer itself.
  for (const text of [...texts, 'mail.example.com']) writer.name(wireName(text), true);
  const expected = '@12 03777777076578616d706c6503636f6d00 046d61696cc010 c010 c00c 00 036f726700 c01d';
  assert.equal(toHex(writer.finish()), toHex(fromHex(expected)));
});

test('a suffix in another case is not the same octets', () => {
  const writer = afterHeader();
  writer.name(wireName('a.example.com'), true);
  writer.name(wireName('b.EXAMPLE.com'), true);
  // Only "com" is shared: 02 b, 08 EXAMPLE, pointer.
  assert.equal(toHex(writer.finish().subarray(27)), '0162074558414d504c45c016');
});

test('names written without compression are whole', () => {
  const writer = afterHeader();
  writer.name(wireName('com'), true);
  writer.name(wireName('com'), false);
  assert.equal(writer.length, 12 + 5 + 5);
});

test('names below the header, as in a bare buffer, are no targets', () => {
  const writer = new MessageWriter();
  writer.name(wireName('com'), true);
  writer.name(wireName('com'), true);
  assert.equal(writer.length, 10);
});

test('a pointer reaches offset 0x3fff and no further', () => {
  for (const [offset, pointed] of [
    [0x3fff, true],
    [0x4000, false],
  ] as const) {
    const writer = new MessageWriter();
    writer.bytes(new Uint8Array(offset));
    writer.name(wireName('com'), true);
    writer.name(wireName('com'), true);
    assert.equal(writer.length - offset, pointed ? 7 : 10);
  }
});

test('reset starts the next message without names of the last', () => {
  const writer = afterHeader();
  writer.name(wireName('example.com'), true);
  writer.reset();
  writer.bytes(new Uint8Array(12));
  writer.name(wireName('example.com'), true);
  assert.equal(writer.length, 12 + 13);
});

test('a name of 127 labels is written and pointed at', () => {
  const writer = afterHeader();
  const name = nameOfLabels(...Array.from({ length: 127 }, () => 1));
  writer.name(name, true);
  writer.name(name, true);
  const message = writer.finish();
  assert.equal(message.length, 12 + 255 + 2);
  assert.deepEqual(readName(message, 267, message.length)?.name, name);
});

test('property: names read back as written, whatever came before', () => {
  fc.assert(
    fc.property(fc.array(fc.tuple(anyName(), fc.boolean()), { maxLength: 200 }), (names) => {
      const writer = afterHeader();
      const offsets = names.map(([name, compress]) => {
        const at = writer.length;
        writer.name(name, compress);
        return at;
      });
      const message = writer.finish();
      for (const [i, [name]] of names.entries()) {
        const read = readName(message, offsets[i]!, message.length);
        assert.deepEqual(read?.name, name);
        assert.equal(read.next, offsets[i + 1] ?? message.length);
      }
    }),
  );
});

test('more names than the table holds are still right', () => {
  const writer = afterHeader();
  const names = Array.from({ length: 2000 }, (_, i) => wireName(`n${i}.example.com`));
  for (const name of names) writer.name(name, true);
  const message = writer.finish();
  let at = 12;
  for (const name of names) {
    const read = readName(message, at, message.length);
    assert.deepEqual(read?.name, name);
    at = read.next;
  }
});
