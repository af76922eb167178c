import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  data,
  END_HEADERS,
  frame,
  getOf,
  headers,
  Peer,
  postOf,
  settings,
  windowUpdate,
} from '../../../../test/support/dns/doh/http2/peer.ts';
import { ERROR, FRAME, FRAME_OCTETS, SETTING } from './frames.ts';
import { CONNECTION_WINDOW, HELD_OCTETS } from './limits.ts';

const sizes = (peer: Peer, streamId: number): number[] =>
  peer
    .of(FRAME.data)
    .filter((one) => one.streamId === streamId)
    .map(({ payload }) => payload.length);

test('a reply goes as far as the window of its stream, and on with it', () => {
  const peer = new Peer().send(settings([SETTING.initialWindowSize, 10]), headers(1, getOf('/size/35')));
  assert.deepEqual(sizes(peer, 1), [10]);
  for (const by of [1, 4, 20]) peer.send(windowUpdate(1, by));
  assert.deepEqual(sizes(peer, 1), [10, 1, 4, 20]);
  assert.deepEqual([peer.first?.ended, peer.first?.body.length, peer.connection.streams], [true, 35, 0]);
});

test('a window of one octet at a time', () => {
  const peer = new Peer().send(settings([SETTING.initialWindowSize, 0]), headers(1, getOf('/size/200')));
  assert.deepEqual(sizes(peer, 1), []);
  for (let i = 0; i < 200; i++) peer.send(windowUpdate(1, 1));
  assert.deepEqual([peer.first?.ended, peer.first?.body.length], [true, 200]);
});

test('the window of the connection is one for all streams', async () => {
  const peer = new Peer().send(settings([SETTING.initialWindowSize, 1_000_000]));
  peer.send(headers(1, getOf('/size/60000')), headers(3, getOf('/size/10000')), headers(5, getOf('/size/7')));
  await peer.ticks();
  assert.deepEqual(sizes(peer, 3), [5535]);
  assert.deepEqual(sizes(peer, 5), []);
  peer.send(windowUpdate(0, 4465));
  assert.deepEqual(sizes(peer, 3), [5535, 4465]);
  peer.send(windowUpdate(0, 7));
  assert.deepEqual([sizes(peer, 5), peer.connection.streams], [[7], 0]);
});

test('the initial window moves those of open streams, below zero too', () => {
  const peer = new Peer().send(settings([SETTING.initialWindowSize, 20]), headers(1, getOf('/size/50')));
  peer.send(settings([SETTING.initialWindowSize, 5]), windowUpdate(1, 15));
  assert.deepEqual(sizes(peer, 1), [20]);
  peer.send(windowUpdate(1, 1));
  assert.deepEqual(sizes(peer, 1), [20, 1]);
  peer.send(settings([SETTING.initialWindowSize, 100]));
  assert.deepEqual(sizes(peer, 1), [20, 1, 29]);
});

test('frames are of 16,384 octets at most, whatever a peer would take', () => {
  const peer = new Peer().send(settings([SETTING.maxFrameSize, 1_000_000]), headers(1, getOf('/size/40000')));
  assert.deepEqual(sizes(peer, 1), [FRAME_OCTETS, FRAME_OCTETS, 40_000 - 2 * FRAME_OCTETS]);
});

test('a body at the limit needs no window, one octet more is too large; both ways the window comes back', () => {
  const peer = new Peer();
  const octets = Buffer.alloc(65_536, 'b');
  let sent = 0;
  const body = (streamId: number, length: number): void => {
    peer.send(headers(streamId, postOf(), END_HEADERS));
    for (let at = 0; at < length; at += FRAME_OCTETS)
      peer.send(
        data(
          streamId,
          octets.subarray(at, Math.min(at + FRAME_OCTETS, length)),
          at + FRAME_OCTETS < length ? 0 : 1,
        ),
      );
    sent += length;
  };
  for (let i = 0; i < 10; i++) body(4 * i + 1, 65_535);
  for (let i = 10; i < 20; i++) body(4 * i + 1, 65_536);
  assert.equal(peer.goaway, undefined);
  const windows = peer.of(FRAME.windowUpdate);
  assert.ok(windows.every(({ streamId }) => streamId === 0));
  const given = windows.reduce((sum, { payload }) => sum + payload.readUInt32BE(0), 65_535);
  assert.ok(given >= sent && given <= sent + CONNECTION_WINDOW, `${given} given, ${sent} sent`);
  peer.send(windowUpdate(0, 1_000_000));
  assert.deepEqual(peer.faults, Array(10).fill('too-large'));
});

test('more than the window of the connection ends it', () => {
  const peer = new Peer();
  for (let i = 0; i < 20; i++) peer.send(headers(2 * i + 1, postOf(), END_HEADERS));
  let sent = 0;
  for (let i = 0; sent + 15_000 <= CONNECTION_WINDOW; i++, sent += 15_000)
    peer.send(data(2 * (i % 20) + 1, Buffer.alloc(15_000), 0));
  assert.equal(peer.goaway, undefined);
  peer.send(data(39, Buffer.alloc(15_000), 0));
  assert.equal(peer.goaway, ERROR.flowControl);
  assert.equal(peer.faults.length, 20);
});

test('padding is given back to its stream', () => {
  const peer = new Peer().send(headers(1, postOf(), END_HEADERS));
  const padded = Buffer.concat([Buffer.from([255]), Buffer.alloc(255 + 20)]);
  for (let i = 0; i < 1000; i++) {
    peer.send(frame(FRAME.data, 0x8, 1, padded));
    peer.now += 10;
  }
  peer.send(data(1, 'end'));
  assert.equal(peer.first?.body.length, 20_003);
});

test('replies that wait are bounded: what would go beyond is cut off', () => {
  const peer = new Peer().send(settings([SETTING.initialWindowSize, 0]));
  const each = 60_000;
  const fit = Math.floor(HELD_OCTETS / each);
  for (let i = 0; i < fit; i++) peer.send(headers(2 * i + 1, getOf(`/size/${each}`)));
  assert.equal(peer.of(FRAME.rstStream).length, 0);
  peer.send(headers(2 * fit + 1, getOf(`/size/${each}`)), headers(2 * fit + 3, getOf('/size/10')));
  assert.equal(peer.resetOf(2 * fit + 1), ERROR.enhanceYourCalm);
  assert.equal(peer.resetOf(2 * fit + 3), undefined);
  // Where one is taken there is room again.
  peer.send(windowUpdate(1, each), windowUpdate(0, each)).send(headers(2 * fit + 5, getOf(`/size/${each}`)));
  assert.equal(peer.resetOf(2 * fit + 5), undefined);
});
