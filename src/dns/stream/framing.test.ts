import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { frame } from '../../../test/support/dns/fakes.ts';
import { FrameSplitter } from './framing.ts';

function drain(splitter: FrameSplitter): Buffer[] {
  const messages: Buffer[] = [];
  for (let message = splitter.next(); message !== null; message = splitter.next())
    messages.push(Buffer.from(message));
  return messages;
}

function framed(messages: readonly Uint8Array[]): Buffer {
  return Buffer.concat(messages.map((message) => frame(message, message.length)));
}

test('every split of every sequence gives the same messages', () => {
  const message = fc.oneof(
    fc.uint8Array({ minLength: 1, maxLength: 40 }),
    fc.integer({ min: 500, max: 3000 }).map((length) => new Uint8Array(length).fill(length)),
  );
  fc.assert(
    fc.property(
      fc.array(message, { maxLength: 12 }),
      fc.array(fc.integer({ min: 1, max: 700 }), { minLength: 1, maxLength: 20 }),
      fc.boolean(),
      (messages, sizes, lazily) => {
        const stream = framed(messages);
        const splitter = new FrameSplitter();
        const got: Buffer[] = [];
        let round = 0;
        for (let at = 0; at < stream.length; round++) {
          const size = sizes[round % sizes.length]!;
          splitter.push(stream.subarray(at, at + size));
          at += size;
          // A paused connection pushes again before it has taken everything.
          if (!lazily || round % 3 === 0) got.push(...drain(splitter));
        }
        got.push(...drain(splitter));
        assert.equal(splitter.pending, false);
        assert.equal(splitter.fault, false);
        assert.deepEqual(
          got,
          messages.map((each) => Buffer.from(each)),
        );
      },
    ),
  );
});

test('octet by octet, the largest message', () => {
  const message = Buffer.alloc(65_535, 'abc');
  const splitter = new FrameSplitter();
  const got: Buffer[] = [];
  for (const octet of framed([message, Buffer.from('x')])) {
    splitter.push(Uint8Array.of(octet));
    got.push(...drain(splitter));
  }
  assert.deepEqual(got, [message, Buffer.from('x')]);
});

test('a length of zero is a fault, however it is split, after the messages before it', () => {
  const stream = Buffer.concat([framed([Buffer.from('a')]), Buffer.from([0, 0]), framed([Buffer.from('b')])]);
  for (let cut = 0; cut <= stream.length; cut++) {
    const splitter = new FrameSplitter();
    const got: Buffer[] = [];
    for (const part of [stream.subarray(0, cut), stream.subarray(cut)]) {
      splitter.push(part);
      got.push(...drain(splitter));
    }
    assert.deepEqual(got, [Buffer.from('a')], `cut at ${cut}`);
    assert.equal(splitter.fault, true);
    assert.equal(splitter.next(), null);
  }
});

test('pending tells a message begun from a silence', () => {
  const splitter = new FrameSplitter();
  assert.equal(splitter.pending, false);
  for (const octet of [0, 2, 9]) {
    splitter.push(Uint8Array.of(octet));
    assert.equal(splitter.next(), null);
    assert.equal(splitter.pending, true);
  }
  splitter.push(Uint8Array.of(9));
  assert.deepEqual([...splitter.next()!], [9, 9]);
  assert.equal(splitter.pending, false);
});

test('a chunk that waits behind one that was read to its end is pending, and keeps its place before later ones', () => {
  const splitter = new FrameSplitter();
  const [first, second, third] = ['a', 'bb', 'ccc'].map((text) => Buffer.from(text));
  splitter.push(framed([first!]));
  splitter.push(framed([second!]));
  assert.deepEqual(Buffer.from(splitter.next()!), first);
  assert.deepEqual([splitter.pending, splitter.chunks, splitter.octets], [true, 1, 4]);
  splitter.push(framed([third!]));
  assert.equal(splitter.octets, 9);
  assert.deepEqual(drain(splitter), [second, third]);
  assert.deepEqual([splitter.pending, splitter.chunks, splitter.octets], [false, 0, 0]);
});
