import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  ACK,
  block,
  data,
  END_HEADERS,
  END_STREAM,
  frame,
  getOf,
  headers,
  integer,
  Peer,
  ping,
  postOf,
  rst,
  settings,
  windowUpdate,
} from '../../../../test/support/dns/doh/http2/peer.ts';
import { ERROR, FRAME, FRAME_OCTETS, SETTING } from './frames.ts';
import {
  BLOCK_OCTETS,
  CONTINUATIONS,
  OUTPUT_OCTETS,
  OVERHEAD,
  REQUESTS_A_TURN,
  RESETS,
  RESETS_REMEMBERED,
  SMALL_DATA,
  WORK_FACTOR,
} from './limits.ts';

const CALM = ERROR.enhanceYourCalm;

/** A peer that one stream waits for, and whose preface has earned and spent nothing else. */
function waiting(): Peer {
  return new Peer().send(headers(1, postOf(), END_HEADERS));
}

/** Sends `octets` until the connection ends. @returns how many times it was let pass */
function flood(peer: Peer, octets: (i: number) => Buffer, most = 5000): number {
  for (let i = 0; i < most; i++) {
    peer.send(octets(i));
    if (peer.ended) return i;
  }
  return most;
}

/** Frames that bring nothing forward. */
const IDLE: readonly (readonly [name: string, octets: Buffer])[] = [
  ['PING (CVE-2019-9512)', ping()],
  ['PING acknowledged', ping('12345678', ACK)],
  ['SETTINGS (CVE-2019-9515)', settings()],
  ['SETTINGS acknowledged', frame(FRAME.settings, ACK, 0, [])],
  ['PRIORITY (CVE-2019-9513)', frame(FRAME.priority, 0, 1, [0, 0, 0, 3, 9])],
  ['WINDOW_UPDATE of the connection', windowUpdate(0, 1)],
  ['WINDOW_UPDATE of a stream (CVE-2019-9511)', windowUpdate(1, 1)],
  ['empty DATA (CVE-2019-9518)', data(1, '', 0)],
  ['DATA of hardly anything', data(1, Buffer.alloc(SMALL_DATA - 1), 0)],
  ['DATA of padding alone', frame(FRAME.data, 0x8, 1, [3, 0, 0, 0])],
  ['GOAWAY', frame(FRAME.goaway, 0, 0, Buffer.alloc(8))],
  ['unknown frames', frame(0xee, 0, 0, [])],
];

for (const [name, octets] of IDLE) {
  test(`a flood of ${name}: the burst, and one more; then as many as the rate allows`, () => {
    const peer = waiting();
    const passed = flood(peer, () => octets);
    // The preface has spent one, the request may have earned some back.
    assert.ok(passed >= OVERHEAD.burst - 1 && passed <= OVERHEAD.burst, `${passed} passed`);
    assert.equal(peer.goaway, CALM);
    const slow = waiting();
    for (let i = 0; i < 3 * OVERHEAD.burst; i++) {
      slow.now += 1000 / OVERHEAD.perSecond;
      slow.send(octets);
    }
    assert.equal(slow.goaway, undefined);
  });
}

test('one large SETTINGS counts for many', () => {
  const large = settings(...Array.from({ length: 2730 }, () => [SETTING.initialWindowSize, 1] as const));
  assert.ok(flood(waiting(), () => large) < 10);
});

test('a client that gives window back for every reply may go on', () => {
  const peer = new Peer();
  for (let id = 1; id < 10_000; id += 2)
    peer.send(headers(id, getOf('/a')), windowUpdate(id, 2), windowUpdate(0, 2), ping());
  assert.equal(peer.goaway, undefined);
});

test('rapid reset (CVE-2023-44487): the burst, and one more; then the rate', () => {
  const pair = (i: number): Buffer => Buffer.concat([headers(2 * i + 1, getOf('/never')), rst(2 * i + 1)]);
  const fast = new Peer();
  // The limit of unfinished work comes before the limit of resets; a refusal counts as a reset.
  assert.equal(flood(fast, pair), RESETS.burst);
  assert.equal(fast.goaway, CALM);
  assert.equal(fast.requests.length, 2 * 100);
  const slow = new Peer();
  for (let i = 0; i < 3 * RESETS.burst; i++) {
    slow.now += 1000 / RESETS.perSecond;
    slow.send(pair(i));
    slow.answer().catch(() => {});
    slow.requests.length = 0;
  }
  assert.equal(slow.goaway, undefined);
});

test('work for streams that the peer has reset is bounded', () => {
  const peer = new Peer({ limits: { streams: 5 } });
  for (let i = 0; i < 5 * WORK_FACTOR; i++) peer.send(headers(2 * i + 1, getOf('/never')), rst(2 * i + 1));
  assert.equal(peer.of(FRAME.rstStream).length, 0);
  const next = 10 * WORK_FACTOR + 1;
  peer.send(headers(next, getOf('/a')));
  assert.equal(peer.resetOf(next), ERROR.refusedStream);
  void peer.answer();
  peer.send(headers(next + 2, getOf('/a')));
  assert.equal(peer.replies().get(next + 2)?.body, '/a');
});

/** What makes us reset a stream. */
const PROVOKED: readonly (readonly [name: string, octets: (id: number) => Buffer])[] = [
  ['a malformed request', (id) => headers(id, getOf('/').slice(0, 3))],
  ['an empty name (CVE-2019-9516)', (id) => headers(id, getOf('/', ['', '']))],
  ['WINDOW_UPDATE by zero', (id) => Buffer.concat([headers(id, postOf(), END_HEADERS), windowUpdate(id, 0)])],
  [
    'WINDOW_UPDATE too far',
    (id) => Buffer.concat([headers(id, postOf(), END_HEADERS), windowUpdate(id, 2 ** 31 - 1)]),
  ],
  [
    'PRIORITY of a wrong length',
    (id) => Buffer.concat([headers(id, postOf(), END_HEADERS), frame(FRAME.priority, 0, id, [])]),
  ],
  ['DATA after the end', (id) => Buffer.concat([headers(id, getOf('/never')), data(id, 'x')])],
  [
    'a body that is not what was announced',
    (id) => Buffer.concat([headers(id, postOf(['content-length', '1']), END_HEADERS), data(id, '')]),
  ],
];

for (const [name, octets] of PROVOKED) {
  test(`resets that we are made to send (CVE-2025-8671): ${name}`, () => {
    const peer = new Peer();
    assert.ok([RESETS.burst, RESETS.burst + 1].includes(flood(peer, (i) => octets(2 * i + 1))));
    assert.equal(peer.goaway, CALM);
  });
}

test('requests answered early and never ended: as many as there are streams, and then as many as there are resets', () => {
  const peer = new Peer();
  const passed = flood(peer, (i) => headers(2 * i + 1, getOf('/a'), END_HEADERS));
  assert.deepEqual([passed, peer.goaway], [100 + RESETS.burst, CALM]);
});

test('ids of reset streams are remembered up to a number, and a straggler after that ends the connection', () => {
  const peer = new Peer();
  const reset = (i: number): void => {
    peer.now += 1000 / RESETS.perSecond;
    peer.send(headers(2 * i + 1, getOf('/').slice(0, 3)));
  };
  for (let i = 0; i < RESETS_REMEMBERED; i++) reset(i);
  peer.send(data(1, 'late'));
  assert.equal(peer.goaway, undefined);
  reset(RESETS_REMEMBERED);
  peer.send(data(3, 'late'));
  assert.equal(peer.goaway, undefined);
  peer.send(data(1, 'late'));
  assert.equal(peer.goaway, ERROR.streamClosed);
});

test('CONTINUATION (CVE-2024-27316): frames and octets of a block at the limit, and one more', () => {
  const begin = frame(FRAME.headers, END_STREAM, 1, block(getOf('/a')));
  const more = (count: number, octets: number[], flags = 0): Buffer[] =>
    Array.from({ length: count }, () => frame(FRAME.continuation, flags, 1, octets));
  const end = frame(FRAME.continuation, END_HEADERS, 1, []);
  const whole = new Peer().send(begin, ...more(CONTINUATIONS - 1, []), end);
  assert.equal(whole.first?.body, '/a');
  assert.equal(new Peer().send(begin, ...more(CONTINUATIONS, []), end).goaway, CALM);
  // A literal that goes on through all of them.
  const rest = BLOCK_OCTETS - block(getOf('/a')).length;
  const value = rest - 3 - integer(0, 0x7f, 60_000).length;
  const literal = Buffer.concat([
    Buffer.from([0, 1, 0x78]),
    integer(0, 0x7f, value),
    Buffer.alloc(value, 'v'),
  ]);
  const cut = Array.from({ length: 4 }, (_, i) => literal.subarray(i * FRAME_OCTETS, (i + 1) * FRAME_OCTETS));
  const long = cut.map((part) => frame(FRAME.continuation, 0, 1, part));
  assert.equal(new Peer().send(begin, ...long, end).goaway, undefined);
  assert.equal(new Peer().send(begin, ...long, ...more(1, [0]), end).goaway, CALM);
});

test('a table made small and large again with every request is served', () => {
  const peer = new Peer();
  const entry = Buffer.concat([Buffer.from([0x40, 1, 0x61, 1]), Buffer.from('v')]);
  for (let id = 1; id < 2000; id += 2) {
    const thrash = Buffer.concat([
      Buffer.from([0x20, 0x3f, 0xe1, 0x1f]),
      block(getOf('/a')),
      ...Array<Buffer>(50).fill(entry),
    ]);
    peer.send(frame(FRAME.headers, END_HEADERS | END_STREAM, id, thrash));
  }
  assert.deepEqual([peer.goaway, peer.requests.length], [undefined, 1000]);
});

test('a chunk with many requests is served in several ticks', async () => {
  const peer = new Peer();
  const count = 3 * REQUESTS_A_TURN + 1;
  peer.send(...Array.from({ length: count }, (_, i) => headers(2 * i + 1, getOf('/'))));
  assert.deepEqual([peer.requests.length, peer.paused], [REQUESTS_A_TURN, true]);
  await peer.ticks();
  assert.deepEqual([peer.requests.length, peer.paused], [count, false]);
});

test('a peer that does not read: what is made for it is bounded, reading stops, and goes on when it reads', async () => {
  const peer = new Peer();
  peer.full = true;
  peer.send(settings([SETTING.initialWindowSize, 1_000_000]), windowUpdate(0, 100_000_000));
  assert.equal(peer.paused, true);
  const before = peer.received;
  for (let id = 1; id < 400; id += 2) peer.send(headers(id, getOf('/size/5000')));
  assert.equal(peer.received, before);
  assert.equal(peer.requests.length, 0);
  peer.connection.drained();
  // One bufferful, and no more until it is taken.
  assert.ok(peer.received - before <= OUTPUT_OCTETS + 20_000, `${peer.received - before} octets`);
  assert.ok(peer.requests.length < 20);
  while (peer.requests.length < 200) {
    peer.connection.drained();
    await new Promise(setImmediate);
  }
  peer.full = false;
  peer.connection.drained();
  await peer.ticks();
  assert.equal([...peer.replies().values()].filter(({ ended }) => ended).length, 200);
});

test('a flood of PING to a peer that does not read is not answered', () => {
  const peer = new Peer();
  peer.full = true;
  peer.send(ping());
  const before = peer.received;
  for (let i = 0; i < 1000; i++) peer.send(ping());
  assert.equal(peer.received, before);
  peer.wait(9_999);
  assert.equal(peer.destroyed, false);
  peer.wait(1);
  assert.equal(peer.destroyed, true);
});
