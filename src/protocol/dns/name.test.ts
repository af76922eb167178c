import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import {
  anyName,
  fixtureCases,
  fromHex,
  isWireName,
  nameEquals,
  nameOfLabels,
  toHex,
  wireName,
} from '../../../test/support/protocol/dns/fixtures.ts';
import {
  foldName,
  isSubdomain,
  labelCount,
  nameFromText,
  nameToText,
  readName,
  skipName,
  skipPlainName,
} from './name.ts';
import { concatOctets } from './octets.ts';

const HEADER = new Uint8Array(12);

test('text to wire and back (names.valid.txt)', () => {
  for (const [text, hex, canonical] of fixtureCases('names.valid.txt')) {
    const name = fromHex(hex);
    assert.equal(toHex(wireName(text)), toHex(name), text);
    assert.equal(nameToText(name), canonical || text);
  }
  assert.deepEqual(nameFromText(''), Uint8Array.of(0));
});

test('text that is no name (names.invalid.txt)', () => {
  for (const [text] of fixtureCases('names.invalid.txt')) assert.equal(nameFromText(text), null, text);
  for (const text of ['\t', 'a\nb', '\x7f', '\\\n', '\x00']) assert.equal(nameFromText(text), null);
});

test('compression (names-wire.txt)', () => {
  for (const [hex, offset, expected] of fixtureCases('names-wire.txt')) {
    const message = fromHex(hex);
    const read = readName(message, Number(offset), message.length);
    assert.equal(read === null ? 'malformed' : `${toHex(read.name)} ${read.next}`, expected, hex);
    assert.equal(skipName(message, Number(offset), message.length), read?.next ?? -1, hex);
  }
});

/** Label sizes, and whether such a name is within the limits of RFC 1035 section 2.3.4. */
const LIMITS: readonly (readonly [readonly number[], boolean])[] = [
  [[63], true],
  [[64], false],
  [[63, 63, 63, 61], true],
  [[63, 63, 63, 62], false],
  [[63, 63, 63, 63], false],
  [Array.from({ length: 127 }, () => 1), true],
  [Array.from({ length: 128 }, () => 1), false],
];

test('labels of 63 octets and names of 255, and not one more', () => {
  for (const [sizes, fits] of LIMITS) {
    const name = nameOfLabels(...sizes);
    const label = `${name.length} octets, first label ${sizes[0]}`;
    const message = concatOctets([HEADER, name]);
    assert.equal(readName(message, 12, message.length) !== null, fits, label);
    assert.equal(skipPlainName(name, 0, name.length), fits ? name.length : -1, label);
    assert.equal(isWireName(name), fits, label);
    const text = sizes.map((size) => 'a'.repeat(size)).join('.');
    assert.equal(nameFromText(text) !== null, fits, label);
    assert.equal(nameFromText(`${text}.`) !== null, fits, label);
    // The same name as escapes is the longest text there is.
    const escaped = sizes.map((size) => '\\097'.repeat(size)).join('.');
    assert.deepEqual(nameFromText(escaped), nameFromText(text), label);
  }
});

test('the limit of 255 octets counts what pointers add', () => {
  const tail = nameOfLabels(63, 63, 63);
  for (const [size, fits] of [
    [61, true],
    [62, false],
  ] as const) {
    const label = Uint8Array.of(size, ...Buffer.alloc(size, 'b'));
    const message = concatOctets([HEADER, tail, label, Uint8Array.of(0xc0, 12)]);
    const read = readName(message, 12 + tail.length, message.length);
    assert.equal(read?.name.length, fits ? 255 : undefined);
  }
});

test('a chain of more pointers than a name has labels is malformed', () => {
  for (const [jumps, fits] of [
    [127, true],
    [128, false],
  ] as const) {
    const pointers = Array.from({ length: jumps }, (_, i) => {
      const target = i === 0 ? 12 : 13 + 2 * (i - 1);
      return Uint8Array.of(0xc0 | (target >>> 8), target);
    });
    const message = concatOctets([HEADER, Uint8Array.of(0), ...pointers]);
    assert.equal(readName(message, message.length - 2, message.length) !== null, fits);
  }
});

test('a name ends before the given end, not before that of the buffer', () => {
  const message = fromHex('@12 0161 0162 00');
  assert.notEqual(readName(message, 12, 17), null);
  assert.equal(readName(message, 12, 16), null);
  assert.equal(skipPlainName(message, 12, 16), -1);
  // An end beyond the buffer is no licence either.
  assert.equal(readName(message.subarray(0, 16), 12, 99), null);
});

test('a pointer stands in no plain name', () => {
  assert.equal(skipPlainName(fromHex('@12 00 c00c'), 13, 15), -1);
});

test('what is read shares nothing with the message', () => {
  const message = Buffer.from(fromHex('@12 0161 00'));
  const read = readName(message, 12, 15);
  message.fill(0xff);
  assert.deepEqual(read?.name, Uint8Array.of(1, 0x61, 0));
});

test('comparison folds ASCII letters and nothing else', () => {
  assert.ok(nameEquals(wireName('ExAmple.COM'), wireName('eXaMPLE.com')));
  assert.ok(!nameEquals(wireName('a.com'), wireName('b.com')));
  assert.ok(!nameEquals(wireName('a.com'), wireName('a.com.au')));
  assert.ok(!nameEquals(wireName('@'), wireName('`')));
  assert.ok(!nameEquals(wireName('['), wireName('{')));
  assert.ok(!nameEquals(wireName('\\196'), wireName('\\228')));
  assert.deepEqual(foldName(wireName('AZ@[\\196.Com')), wireName('az@[\\196.com'));
});

test('isSubdomain looks at labels, not at octets', () => {
  const cases: readonly (readonly [string, string, boolean])[] = [
    ['example.com', 'example.com', true],
    ['www.EXAMPLE.com', 'example.COM', true],
    ['a.b.example.com', 'example.com', true],
    ['badexample.com', 'example.com', false],
    ['com', 'example.com', false],
    ['example.org', 'example.com', false],
    ['example.com', '.', true],
    ['.', '.', true],
    ['.', 'com', false],
    // The octets of "\003com" at the end of a label are not the name "com".
    ['x\\003com', 'com', false],
  ];
  for (const [name, zone, expected] of cases) {
    assert.equal(isSubdomain(wireName(name), wireName(zone)), expected, `${name} under ${zone}`);
  }
});

test('labelCount leaves out the root', () => {
  assert.equal(labelCount(wireName('.')), 0);
  assert.equal(labelCount(wireName('com')), 1);
  assert.equal(labelCount(wireName('a\\.b.example.com')), 3);
});

test('property: text of any name reads back as the same octets', () => {
  fc.assert(
    fc.property(anyName(), (name) => {
      assert.ok(isWireName(name));
      assert.deepEqual(nameFromText(nameToText(name)), name);
      assert.ok(nameEquals(name, foldName(name)));
    }),
  );
});

test('property: nothing throws on arbitrary octets or text', () => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 300 }), fc.nat(300), fc.nat(300), (octets, offset, end) => {
      const read = readName(octets, offset, end);
      assert.equal(skipName(octets, offset, end), read?.next ?? -1);
      assert.ok(read === null || isWireName(read.name));
      skipPlainName(octets, offset, end);
      nameToText(octets);
    }),
  );
  fc.assert(
    fc.property(fc.string({ unit: 'binary', maxLength: 300 }), (text) => {
      const name = nameFromText(text);
      assert.ok(name === null || isWireName(name));
    }),
  );
});
