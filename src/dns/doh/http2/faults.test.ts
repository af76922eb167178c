import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  ACK,
  block,
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
  u32,
  windowUpdate,
} from '../../../../test/support/dns/doh/http2/peer.ts';
import { ERROR, FRAME, FRAME_OCTETS, PREFACE, SETTING, WINDOW_MAX } from './frames.ts';

const PADDED = 0x8;
const PRIORITY = 0x20;
const SELF = [0, 0, 0, 1, 16];

/** What ends the connection, and how. Sent after a whole preface; stream 1 waits for its answer, stream 3 is answered. */
const FATAL: readonly (readonly [name: string, octets: Buffer | Buffer[], code: number])[] = [
  ['DATA on stream 0', data(0, 'x'), ERROR.protocol],
  ['DATA on a stream not opened', data(9, 'x'), ERROR.protocol],
  ['DATA on a stream of ours', data(2, 'x'), ERROR.protocol],
  ['DATA on a closed stream', data(3, 'x'), ERROR.streamClosed],
  ['DATA with more padding than frame', frame(FRAME.data, PADDED, 1, [3, 1, 2]), ERROR.protocol],
  ['DATA padded, without a length', frame(FRAME.data, PADDED, 1, []), ERROR.protocol],
  ['a frame of 16,385 octets', frame(FRAME.data, 0, 1, Buffer.alloc(FRAME_OCTETS + 1)), ERROR.frameSize],
  ['HEADERS on stream 0', headers(0, getOf('/')), ERROR.protocol],
  ['HEADERS on an even stream', headers(6, getOf('/')), ERROR.protocol],
  ['HEADERS on a closed stream', headers(3, getOf('/')), ERROR.streamClosed],
  ['HEADERS on a stream passed over', [headers(9, getOf('/')), headers(7, getOf('/'))], ERROR.streamClosed],
  [
    'HEADERS with more padding than frame',
    frame(FRAME.headers, PADDED | END_HEADERS, 5, [9, 0x82]),
    ERROR.protocol,
  ],
  [
    'HEADERS too short for a priority',
    frame(FRAME.headers, PRIORITY | END_HEADERS, 5, [0, 0]),
    ERROR.frameSize,
  ],
  ['a block that cannot be read', frame(FRAME.headers, END_HEADERS, 5, [0x80]), ERROR.compression],
  ['PRIORITY on stream 0', frame(FRAME.priority, 0, 0, SELF), ERROR.protocol],
  [
    'PRIORITY of a stream not open, over itself',
    frame(FRAME.priority, 0, 5, [0, 0, 0, 5, 1]),
    ERROR.protocol,
  ],
  ['RST_STREAM on stream 0', rst(0), ERROR.protocol],
  ['RST_STREAM of a stream not opened', rst(9), ERROR.protocol],
  ['RST_STREAM of three octets', frame(FRAME.rstStream, 0, 1, [0, 0, 0]), ERROR.frameSize],
  ['SETTINGS on a stream', frame(FRAME.settings, 0, 1, []), ERROR.protocol],
  ['SETTINGS of five octets', frame(FRAME.settings, 0, 0, [0, 1, 2, 3, 4]), ERROR.frameSize],
  ['SETTINGS acknowledged, with content', frame(FRAME.settings, ACK, 0, u32(0)), ERROR.frameSize],
  ['ENABLE_PUSH of 2', settings([SETTING.enablePush, 2]), ERROR.protocol],
  ['INITIAL_WINDOW_SIZE of 2^31', settings([SETTING.initialWindowSize, 2 ** 31]), ERROR.flowControl],
  ['MAX_FRAME_SIZE of 16,383', settings([SETTING.maxFrameSize, 16_383]), ERROR.protocol],
  ['MAX_FRAME_SIZE of 2^24', settings([SETTING.maxFrameSize, 2 ** 24]), ERROR.protocol],
  ['PUSH_PROMISE', frame(FRAME.pushPromise, END_HEADERS, 1, u32(2)), ERROR.protocol],
  ['PING on a stream', frame(FRAME.ping, 0, 1, Buffer.alloc(8)), ERROR.protocol],
  ['PING of seven octets', ping('1234567'), ERROR.frameSize],
  ['GOAWAY on a stream', frame(FRAME.goaway, 0, 1, Buffer.alloc(8)), ERROR.protocol],
  ['GOAWAY of seven octets', frame(FRAME.goaway, 0, 0, Buffer.alloc(7)), ERROR.frameSize],
  ['WINDOW_UPDATE of three octets', frame(FRAME.windowUpdate, 0, 0, [0, 0, 1]), ERROR.frameSize],
  ['WINDOW_UPDATE by zero', windowUpdate(0, 0), ERROR.protocol],
  ['WINDOW_UPDATE beyond 2^31 - 1', windowUpdate(0, WINDOW_MAX), ERROR.flowControl],
  ['WINDOW_UPDATE of a stream not opened', windowUpdate(9, 1), ERROR.protocol],
  ['CONTINUATION by itself', frame(FRAME.continuation, END_HEADERS, 1, []), ERROR.protocol],
  [
    'CONTINUATION of another stream',
    [headers(5, getOf('/'), 0), frame(FRAME.continuation, END_HEADERS, 7, [])],
    ERROR.protocol,
  ],
  ['a frame within a header block', [headers(5, getOf('/'), 0), ping()], ERROR.protocol],
  [
    'an unknown frame within a header block',
    [headers(5, getOf('/'), 0), frame(0xbe, 0, 0, [])],
    ERROR.protocol,
  ],
  [
    'an initial window that overflows one that was widened',
    [windowUpdate(1, 1), settings([SETTING.initialWindowSize, WINDOW_MAX])],
    ERROR.flowControl,
  ],
];

for (const [name, octets, code] of FATAL) {
  test(`ends the connection: ${name}`, async () => {
    const peer = new Peer().send(headers(1, getOf('/never'), END_HEADERS), headers(3, getOf('/a')));
    assert.equal(peer.goaway, undefined);
    peer.send(...[octets].flat());
    assert.deepEqual([peer.goaway, peer.ended], [code, true]);
    const sent = peer.received;
    // Nothing more is read, nor said.
    peer.send(headers(11, getOf('/a')), ping());
    await peer.answer();
    assert.equal(peer.received, sent);
  });
}

for (const [name, octets] of [
  ['another protocol', Buffer.from('GET / HTTP/1.1\r\n\r\n')],
  ['a preface with a fault in its last octet', Buffer.concat([PREFACE.subarray(0, 23), Buffer.from('x')])],
  ['a preface without SETTINGS', Buffer.concat([PREFACE, ping()])],
  [
    'a preface with the acknowledgement of SETTINGS',
    Buffer.concat([PREFACE, frame(FRAME.settings, ACK, 0, [])]),
  ],
] as const) {
  test(`ends the connection: ${name}`, () => {
    const peer = new Peer({ silent: true }).send(octets);
    assert.deepEqual([peer.goaway, peer.ended], [ERROR.protocol, true]);
  });
}

const post = (...more: FieldText[]): Buffer => headers(1, postOf(...more), END_HEADERS);

/** What ends stream 1 alone, and how. */
const RESET: readonly (readonly [name: string, octets: Buffer[], code: number])[] = [
  ['no :path', [headers(1, getOf('/').slice(0, 3))], ERROR.protocol],
  ['a capital in a name', [headers(1, getOf('/', ['Accept', '*/*']))], ERROR.protocol],
  ['a length, and no body', [headers(1, postOf(['content-length', '1']))], ERROR.protocol],
  ['a body longer than announced', [post(['content-length', '2']), data(1, 'abc', 0)], ERROR.protocol],
  ['a body shorter than announced', [post(['content-length', '4']), data(1, 'abc')], ERROR.protocol],
  [
    'trailers that end a body too short',
    [post(['content-length', '4']), data(1, 'abc', 0), headers(1, [['x', 'y']])],
    ERROR.protocol,
  ],
  ['trailers without an end', [post(), headers(1, [['x', 'y']], END_HEADERS)], ERROR.protocol],
  ['trailers with a pseudo-header field', [post(), headers(1, [[':path', '/']])], ERROR.protocol],
  ['HEADERS after the end', [headers(1, getOf('/never')), headers(1, [['x', 'y']])], ERROR.streamClosed],
  ['DATA after the end', [headers(1, getOf('/never')), data(1, 'x')], ERROR.streamClosed],
  [
    'a stream over itself, in HEADERS',
    [
      frame(
        FRAME.headers,
        PRIORITY | END_HEADERS | END_STREAM,
        1,
        Buffer.concat([Buffer.from(SELF), block(getOf('/'))]),
      ),
    ],
    ERROR.protocol,
  ],
  ['a stream over itself, in PRIORITY', [post(), frame(FRAME.priority, 0, 1, SELF)], ERROR.protocol],
  ['PRIORITY of four octets', [post(), frame(FRAME.priority, 0, 1, [0, 0, 0, 0])], ERROR.frameSize],
  ['WINDOW_UPDATE by zero', [post(), windowUpdate(1, 0)], ERROR.protocol],
  ['WINDOW_UPDATE beyond 2^31 - 1', [post(), windowUpdate(1, WINDOW_MAX)], ERROR.flowControl],
];

for (const [name, octets, code] of RESET) {
  test(`ends the stream: ${name}`, () => {
    const peer = new Peer().send(...octets);
    assert.deepEqual([peer.resetOf(1), peer.goaway, peer.connection.streams], [code, undefined, 0]);
    // What was under way to it is let pass, and the next is served.
    peer.send(data(1, 'x'), windowUpdate(1, 9), rst(1), headers(1, [['x', 'y']]), headers(3, getOf('/b')));
    assert.equal(peer.replies().get(3)?.body, '/b');
    assert.equal(peer.goaway, undefined);
  });
}
