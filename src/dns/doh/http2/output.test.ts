import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { framesOf } from '../../../../test/support/dns/doh/http2/peer.ts';
import { FrameReader, FrameWriter } from './frames.ts';

/** A writer whose octets are kept as they were handed over, not copied, and what they should be. */
function recorded(): { writer: FrameWriter; parts: Buffer[] } {
  const parts: Buffer[] = [];
  const none = (): void => {};
  const write = (octets: readonly Buffer[]): boolean => {
    parts.push(...octets);
    return true;
  };
  return {
    writer: new FrameWriter({ write, unsent: () => 0, pause: none, resume: none, end: none, destroy: none }),
    parts,
  };
}

type Write = readonly [
  kind: 'headers' | 'data' | 'reset' | 'update' | 'ping' | 'goaway' | 'flush',
  number: number,
];

function write(writer: FrameWriter, [kind, number]: Write): string | null {
  const octets = Buffer.alloc(number % 16_385, number % 251);
  const u32 = `${number.toString(16).padStart(8, '0')}`;
  switch (kind) {
    case 'headers':
      writer.headers(number, octets, octets.length, true);
      return `1 5 ${number} ${octets.toString('hex')}`;
    case 'data':
      writer.data(number, octets, 0, octets.length, false);
      return `0 0 ${number} ${octets.toString('hex')}`;
    case 'reset':
      writer.reset(number, number);
      return `3 0 ${number} ${u32}`;
    case 'update':
      writer.windowUpdate(number, number);
      return `8 0 ${number} ${u32}`;
    case 'ping':
      writer.ping(Buffer.alloc(10, number % 251), 2, true);
      return `6 1 0 ${Buffer.alloc(8, number % 251).toString('hex')}`;
    case 'goaway':
      writer.goaway(number, number);
      return `7 0 0 ${u32}${u32}`;
    case 'flush':
      writer.flush();
      return null;
  }
}

test('frames of several connections at once come out whole, in order, and stay as they were', () => {
  const kinds = fc.constantFrom<Write[0]>('headers', 'data', 'reset', 'update', 'ping', 'goaway', 'flush');
  const number = fc.oneof(fc.nat(300), fc.nat(0x7fff_ffff));
  const writes = fc.array(fc.tuple(fc.nat(2), kinds, number), { maxLength: 200, size: 'max' });
  fc.assert(
    fc.property(writes, (list) => {
      const peers = [recorded(), recorded(), recorded()];
      const expected: string[][] = [[], [], []];
      for (const [who, kind, value] of list) {
        const line = write(peers[who]!.writer, [kind, value]);
        if (line !== null) expected[who]!.push(line);
      }
      for (const [who, { writer, parts }] of peers.entries()) {
        writer.flush();
        assert.equal(writer.queued, 0);
        const frames = framesOf(Buffer.concat(parts));
        assert.deepEqual(
          frames.map((one) => `${one.type} ${one.flags} ${one.streamId} ${one.payload.toString('hex')}`),
          expected[who],
        );
      }
    }),
    { seed: 9113, numRuns: 100 },
  );
});

test('frames are read alike, however their octets are cut', () => {
  const { writer, parts } = recorded();
  const sent = (['headers', 'ping', 'data', 'reset', 'goaway'] as const).map((kind, i) =>
    write(writer, [kind, 1000 * i + 1]),
  );
  writer.flush();
  const octets = Buffer.concat([Buffer.from('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n'), ...parts]);
  fc.assert(
    fc.property(fc.array(fc.integer({ min: 1, max: 40 }), { minLength: 1, maxLength: 30 }), (sizes) => {
      const reader = new FrameReader();
      const seen: string[] = [];
      for (let at = 0, i = 0; at < octets.length; i++) {
        const size = sizes[i % sizes.length]!;
        reader.push(octets.subarray(at, at + size));
        at += size;
        if (reader.preface() !== true) continue;
        while (reader.next() === true) {
          const payload = reader.octets.toString('hex', reader.from, reader.to);
          seen.push(`${reader.type} ${reader.flags} ${reader.streamId} ${payload}`);
        }
        assert.equal(reader.unread, 0);
      }
      assert.deepEqual(seen, sent);
      assert.equal(reader.midway, false);
    }),
    { seed: 9113, numRuns: 200 },
  );
});
