import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  ACK,
  block,
  COMMON,
  data,
  END_HEADERS,
  END_STREAM,
  type FieldText,
  frame,
  getOf,
  headers,
  Peer,
  ping,
  postOf,
  rst,
  settings,
} from '../../../../test/support/dns/doh/http2/peer.ts';
import { ERROR, FRAME, FRAME_OCTETS, PREFACE, SETTING } from './frames.ts';
import { CONNECTION_WINDOW } from './limits.ts';

const PADDED = 0x8;
const PRIORITY = 0x20;

test('the server speaks first: SETTINGS with our values, then a larger window', () => {
  const { frames } = new Peer({ silent: true });
  assert.deepEqual(
    frames.map(({ type, streamId }) => [type, streamId]),
    [
      [FRAME.settings, 0],
      [FRAME.windowUpdate, 0],
    ],
  );
  const payload = frames[0]!.payload;
  const pairs = Array.from({ length: payload.length / 6 }, (_, i) => [
    payload.readUInt16BE(6 * i),
    payload.readUInt32BE(6 * i + 2),
  ]);
  assert.deepEqual(pairs, [
    [SETTING.headerTableSize, 4096],
    [SETTING.maxConcurrentStreams, 100],
    [SETTING.initialWindowSize, 65_536],
    [SETTING.maxFrameSize, 16_384],
    [SETTING.maxHeaderListSize, 65_536],
  ]);
  assert.equal(frames[1]!.payload.readUInt32BE(0), CONNECTION_WINDOW - 65_535);
});

test('SETTINGS are acknowledged, unknown ones ignored; so are unknown frames, flags and the reserved bit', () => {
  const peer = new Peer({ silent: true }).send(
    PREFACE,
    settings([0xfff0, 7], [SETTING.maxFrameSize, 20_000]),
  );
  assert.equal(peer.of(FRAME.settings).filter(({ flags }) => flags === ACK).length, 1);
  peer.send(
    frame(FRAME.settings, ACK, 0, []),
    frame(0xbe, 0xff, 0, [1, 2, 3]),
    frame(0x0c, 0, 1, []),
    frame(FRAME.headers, END_HEADERS | END_STREAM | (0xd2 & ~PADDED), 0x8000_0001, block(getOf('/a'))),
  );
  assert.equal(peer.goaway, undefined);
  assert.equal(peer.first?.body, '/a');
});

test('a request, however its octets are cut', () => {
  const octets = Buffer.concat([
    PREFACE,
    settings(),
    headers(
      1,
      postOf([':authority', 'x']).toSorted((a, b) => (a[0] < b[0] ? -1 : 1)),
      END_HEADERS,
    ),
    data(1, 'hel', 0),
    data(1, 'lo'),
    headers(3, getOf('/b')),
  ]);
  for (const size of [1, 2, 8, 9, 10, 25, 1000]) {
    const peer = new Peer({ silent: true });
    for (let at = 0; at < octets.length; at += size) peer.send(octets.subarray(at, at + size));
    const replies = peer.replies();
    assert.deepEqual([replies.get(1)?.body, replies.get(3)?.body], ['hello', '/b'], `cut by ${size}`);
    assert.deepEqual([replies.get(1)?.ended, peer.goaway, peer.connection.streams], [true, undefined, 0]);
  }
});

test('replies: status, common headers, length; HEAD and empty ones without DATA', () => {
  const peer = new Peer();
  peer.send(
    headers(1, getOf('/a')),
    headers(3, [[':method', 'HEAD'], ...getOf('/size/5').slice(1)]),
    headers(5, getOf('/size/0')),
  );
  const replies = peer.replies();
  for (const [id, body, length] of [
    [1, '/a', '2'],
    [3, '', '5'],
    [5, '', '0'],
  ] as const) {
    const { headers: list, ...reply } = replies.get(id)!;
    assert.deepEqual(reply, { status: '200', body, ended: true, reset: undefined });
    assert.deepEqual(Object.fromEntries(list), { ':status': '200', ...COMMON, 'content-length': length });
  }
  assert.deepEqual(
    peer.of(FRAME.data).map(({ streamId }) => streamId),
    [1],
  );
});

test('replies of one tick leave in one write', () => {
  const peer = new Peer();
  let writes = 0;
  const before = peer.received;
  const watched = new Proxy(peer.frames, {});
  peer.frames.push = (...frames) => {
    writes++;
    return Array.prototype.push.apply(watched, frames);
  };
  peer.send(...[1, 3, 5, 7].map((id) => headers(id, getOf('/a'))));
  assert.equal(writes, 1);
  assert.ok(peer.received > before);
});

const post = (...more: FieldText[]): Buffer => headers(1, postOf(...more), END_HEADERS);

test('DATA beyond a window of a stream', () => {
  const peer = new Peer().send(headers(1, postOf().with(2, [':path', '/never']), END_HEADERS));
  for (let i = 0; i < 4; i++) peer.send(data(1, Buffer.alloc(FRAME_OCTETS), 0));
  assert.equal(peer.resetOf(1), undefined);
  peer.send(data(1, 'x', 0));
  assert.deepEqual([peer.resetOf(1), peer.goaway], [ERROR.flowControl, undefined]);
});

test('padding and priority are taken off', () => {
  const padded = Buffer.concat([Buffer.from([4, 0, 0, 0, 3, 200]), block(postOf()), Buffer.alloc(4)]);
  const peer = new Peer().send(
    frame(FRAME.headers, PADDED | PRIORITY | END_HEADERS, 1, padded),
    frame(FRAME.data, PADDED, 1, [2, 0x61, 0, 0]),
    frame(FRAME.data, PADDED | END_STREAM, 1, [255, 0x62, ...Buffer.alloc(255)]),
  );
  assert.equal(peer.first?.body, 'ab');
});

test('PRIORITY changes nothing, of streams open, closed and not opened', async () => {
  const peer = new Peer().send(headers(1, getOf('/never')), headers(3, getOf('/a')));
  for (const id of [1, 3, 99]) peer.send(frame(FRAME.priority, 0, id, [0, 0, 0, 51, 7]));
  await peer.answer('done');
  assert.deepEqual([peer.replies().get(1)?.body, peer.goaway], ['done', undefined]);
});

test('PING is answered with its octets, an answer is not', () => {
  const peer = new Peer().send(ping('abcdefgh'), ping('ijklmnop', ACK));
  const [answer, ...more] = peer.of(FRAME.ping);
  assert.deepEqual([answer?.flags, answer?.payload.toString(), more.length], [ACK, 'abcdefgh', 0]);
});

test('trailers end a body', () => {
  const peer = new Peer().send(post(), data(1, 'ab', 0), data(1, 'c', 0), headers(1, [['x', 'y']]));
  assert.deepEqual([peer.first?.body, peer.goaway], ['abc', undefined]);
  const none = new Peer().send(post(), headers(1, [['x', 'y']]));
  assert.equal(none.first?.headers.get('content-length'), '0');
});

test('an answer before the end of the request: whole, and after a second RST_STREAM(NO_ERROR)', () => {
  const peer = new Peer().send(headers(1, getOf('/a'), END_HEADERS));
  assert.deepEqual([peer.first?.body, peer.first?.ended], ['/a', true]);
  peer.wait(999).send(data(1, 'unwanted', 0));
  assert.deepEqual([peer.resetOf(1), peer.connection.streams], [undefined, 1]);
  peer.wait(1);
  assert.deepEqual([peer.resetOf(1), peer.connection.streams], [ERROR.none, 0]);
  // When the rest comes there is nothing to stop.
  const whole = new Peer().send(headers(1, getOf('/a'), END_HEADERS), data(1, 'unwanted'));
  assert.deepEqual(
    [whole.first?.body, whole.wait(1000).resetOf(1), whole.connection.streams],
    ['/a', undefined, 0],
  );
});

test('a reset by the peer: nothing more is sent, and the wait for the body ends', async () => {
  const peer = new Peer().send(post(), data(1, 'x', 0), rst(1), headers(3, getOf('/never')), rst(3));
  assert.deepEqual(peer.faults, ['gone']);
  await peer.answer();
  assert.deepEqual([...peer.replies()], []);
  peer.send(rst(1), rst(3), headers(5, getOf('/b')));
  assert.equal(peer.replies().get(5)?.body, '/b');
});

test('one stream too many is refused; when one ends there is room', async () => {
  const peer = new Peer({ limits: { streams: 3 } });
  peer.send(...[1, 3, 5].map((id) => headers(id, getOf('/never'))));
  assert.equal(peer.of(FRAME.rstStream).length, 0);
  peer.send(headers(7, postOf(), END_HEADERS), data(7, 'under way'));
  assert.deepEqual([peer.resetOf(7), peer.requests.length], [ERROR.refusedStream, 3]);
  await peer.answer();
  peer.send(headers(9, getOf('/a')));
  assert.equal(peer.replies().get(9)?.body, '/a');
});

test('a header list in several frames, and one larger than we take', () => {
  const list = block(getOf('/a', ['x-long', 'y'.repeat(40_000)]));
  const cut = [
    list.subarray(0, 16_384),
    list.subarray(16_384, 16_385),
    list.subarray(16_385, 32_000),
    list.subarray(32_000),
  ];
  const peer = new Peer().send(
    frame(FRAME.headers, END_STREAM, 1, cut[0]!),
    frame(FRAME.continuation, 0, 1, cut[1]!),
    frame(FRAME.continuation, 0, 1, []),
    frame(FRAME.continuation, 0, 1, cut[2]!),
    frame(FRAME.continuation, END_HEADERS, 1, cut[3]!),
  );
  assert.equal(peer.first?.body, '/a');
  assert.equal(peer.heads[0]?.tooLarge, false);
  const many = (count: number): FieldText[] =>
    Array.from({ length: count }, (_, i): FieldText => [`x${i}`, '']);
  peer.send(headers(3, getOf('/a', ...many(60))), headers(5, getOf('/a', ...many(61))));
  assert.deepEqual(
    peer.heads.map(({ tooLarge }) => tooLarge),
    [false, false, true],
  );
});
