import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import {
  block,
  data,
  END_HEADERS,
  END_STREAM,
  frame,
  framesOf,
  getOf,
  headers,
  Peer,
  ping,
  postOf,
  rst,
  settings,
  windowUpdate,
} from '../../../../test/support/dns/doh/http2/peer.ts';
import { FRAME, PREFACE, SETTING } from './frames.ts';
import { CONNECTION_WINDOW, HELD_OCTETS, OUTPUT_OCTETS } from './limits.ts';

/** Peers that say anything: the connection never throws, speaks in whole frames, keeps to its bounds, and can be closed. */

const streamId = fc.oneof(fc.constantFrom(0, 1, 2, 3, 5, 7, 9), fc.nat(200), fc.nat(0x7fff_ffff));
const payload = fc.oneof(
  fc.uint8Array({ maxLength: 40 }),
  fc.constantFrom(
    block(getOf('/size/70000')),
    block(getOf('/never')),
    block(postOf()),
    Buffer.alloc(4, 1),
    Buffer.alloc(8),
    Buffer.from([0x82, 0x87, 0x84, 0x20, 0xbe, 0x40, 1, 0x61, 0]),
  ),
  fc.nat(17_000).map((length) => Buffer.alloc(length, 0x84)),
);
const anyFrame = fc
  .tuple(
    fc.oneof(fc.nat(9), fc.nat(255)),
    fc.oneof(fc.constantFrom(0, 1, 4, 5, 8, 0xd, 0x25), fc.nat(255)),
    streamId,
    payload,
  )
  .map(([type, flags, id, octets]) => frame(type, flags, id, octets));

/** Ids as a client uses them: new ones ascend, old ones were used of late. */
class Ids {
  #last = -1;

  readonly fresh = (): number => (this.#last += 2);

  readonly used = (back: number): number => Math.max(1, this.#last - 2 * back);
}

type Maker = (ids: Ids) => Buffer;

/** Frames as a real client sends them. */
const back = fc.nat(12);
const by = fc.integer({ min: 1, max: 90_000 });
const rightFrame: fc.Arbitrary<Maker> = fc.oneof(
  fc.constantFrom('/size/3000', '/size/70000', '/never', '/a').map(
    (path): Maker =>
      ({ fresh }) =>
        headers(fresh(), getOf(path)),
  ),
  fc.constant<Maker>(({ fresh }) => headers(fresh(), postOf(), END_HEADERS)),
  fc.constant<Maker>(({ fresh }) => {
    const id = fresh();
    return Buffer.concat([headers(id, postOf(), 0), frame(FRAME.continuation, END_HEADERS, id, [])]);
  }),
  fc.tuple(back, fc.nat(3000), fc.boolean()).map(
    ([i, size, end]): Maker =>
      ({ used }) =>
        data(used(i), Buffer.alloc(size), end ? END_STREAM : 0),
  ),
  fc.tuple(back, by).map(
    ([i, octets]): Maker =>
      ({ used }) =>
        windowUpdate(used(i), octets),
  ),
  by.map(
    (octets): Maker =>
      () =>
        windowUpdate(0, octets),
  ),
  back.map(
    (i): Maker =>
      ({ used }) =>
        rst(used(i)),
  ),
  fc.nat(90_000).map(
    (size): Maker =>
      () =>
        settings([SETTING.initialWindowSize, size], [SETTING.headerTableSize, size]),
  ),
  fc.constant<Maker>(() => ping()),
);

type Act = 'wait' | 'full' | 'drained' | 'answer' | 'drain';
const step: fc.Arbitrary<Maker | Act> = fc.oneof(
  { arbitrary: rightFrame, weight: 100 },
  {
    arbitrary: anyFrame.map(
      (octets): Maker =>
        () =>
          octets,
    ),
    weight: 1,
  },
  { arbitrary: fc.constantFrom<Act>('wait', 'full', 'drained', 'drained', 'answer'), weight: 20 },
  { arbitrary: fc.constant<Act>('drain'), weight: 1 },
);

function play(peer: Peer, act: Act): void {
  if (act === 'wait') peer.wait(3000);
  else if (act === 'answer') void peer.answer();
  else if (act === 'drain') peer.connection.drain();
  else peer.full = act === 'full';
  if (act === 'drained') peer.connection.drained();
}

/** After anything at all: the streams are within their limit, the memory within its bound, and the end is orderly. */
async function holds(peer: Peer): Promise<void> {
  assert.deepEqual(peer.broken, []);
  assert.ok(peer.connection.streams <= 100);
  peer.full = false;
  peer.connection.drained();
  await peer.ticks();
  assert.ok(peer.received <= HELD_OCTETS + CONNECTION_WINDOW + 40 * OUTPUT_OCTETS);
  peer.replies();
  peer.connection.closed();
  assert.equal(peer.connection.streams, 0);
  await peer.answer();
  assert.deepEqual(peer.broken, []);
}

test('sessions of right frames in any order, wrong ones among them', async () => {
  let longest = 0;
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 300, size: 'max' }), async (steps) => {
      const peer = new Peer();
      const ids = new Ids();
      for (const one of steps) {
        if (typeof one === 'string') play(peer, one);
        else peer.send(one(ids));
        if (!peer.full) await peer.ticks();
      }
      longest = Math.max(longest, peer.requests.length);
      await holds(peer);
    }),
    { seed: 9113, numRuns: 400 },
  );
  // Not all of them end at their first frame.
  assert.ok(longest > 30, `${longest} requests`);
});

test('a session of every kind of frame, with octets changed and cut anywhere', async () => {
  const session = Buffer.concat([
    PREFACE,
    settings([SETTING.initialWindowSize, 100]),
    headers(1, getOf('/size/500')),
    headers(3, postOf(), END_HEADERS),
    data(3, 'some', 0),
    windowUpdate(1, 200),
    headers(5, getOf('/never'), END_STREAM),
    frame(FRAME.continuation, END_HEADERS, 5, []),
    data(3, 'thing'),
    ping(),
    frame(
      FRAME.headers,
      0x2d,
      7,
      Buffer.concat([Buffer.from([2, 0, 0, 0, 0, 9]), block(getOf('/a')), Buffer.alloc(2)]),
    ),
    rst(5),
    windowUpdate(0, 10_000),
    settings([SETTING.headerTableSize, 0]),
    headers(9, getOf('/b')),
    frame(FRAME.goaway, 0, 0, Buffer.alloc(8)),
  ]);
  const change = fc.record({ at: fc.nat(session.length - 1), octet: fc.nat(255) });
  await fc.assert(
    fc.asyncProperty(
      fc.array(change, { maxLength: 4 }),
      fc.integer({ min: 1, max: 400 }),
      async (changes, size) => {
        const octets = Buffer.from(session);
        for (const { at, octet } of changes) octets[at] = octet;
        const peer = new Peer({ silent: true });
        for (let at = 0; at < octets.length; at += size) {
          peer.send(Buffer.from(octets.subarray(at, at + size)));
          await peer.ticks();
        }
        await holds(peer);
      },
    ),
    { seed: 9113, numRuns: 3000 },
  );
});

test('random octets', async () => {
  const chunks = fc.array(fc.uint8Array({ maxLength: 300 }), { maxLength: 10 });
  await fc.assert(
    fc.asyncProperty(chunks, fc.boolean(), async (pieces, greeted) => {
      const peer = new Peer({ silent: !greeted });
      for (const piece of pieces) peer.send(piece);
      await holds(peer);
    }),
    { seed: 9113, numRuns: 1000 },
  );
});

test('output consists of whole frames', () => {
  const peer = new Peer();
  peer.send(headers(1, getOf('/size/40000')), headers(3, getOf('/a')), ping());
  assert.deepEqual(
    peer.frames.reduce((sum, { payload: octets }) => sum + 9 + octets.length, 0),
    peer.received,
  );
  assert.equal(framesOf(Buffer.alloc(8)).length, 0);
});
