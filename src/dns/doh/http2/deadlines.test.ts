import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  ACK,
  data,
  END_HEADERS,
  END_STREAM,
  frame,
  getOf,
  headers,
  Peer,
  ping,
  postOf,
  settings,
  windowUpdate,
} from '../../../../test/support/dns/doh/http2/peer.ts';
import { ERROR, FRAME, SETTING } from './frames.ts';

test('deadlines: an idle connection, half a preface, half a frame, half a header block', () => {
  const half = (octets: Buffer): Buffer => octets.subarray(0, octets.length - 1);
  const request = headers(1, getOf('/a'));
  const cases: [name: string, peer: Peer, ms: number][] = [
    ['idle', new Peer(), 30_000],
    ['after a reply', new Peer().send(request), 30_000],
    ['no preface', new Peer({ silent: true }), 10_000],
    ['half a frame', new Peer().send(half(request)), 10_000],
    ['half a frame head', new Peer().send(request.subarray(0, 4)), 10_000],
    ['half a block', new Peer().send(headers(1, getOf('/a'), END_STREAM)), 10_000],
  ];
  for (const [name, peer, ms] of cases) {
    peer.wait(ms - 1);
    assert.equal(peer.ended, false, name);
    peer.wait(1);
    assert.deepEqual([peer.ended, peer.goaway], [true, ERROR.none], name);
  }
});

test('deadlines: no PING keeps an idle connection, no drip half a block; whole frames keep a slow sender', () => {
  const pinging = new Peer();
  for (let i = 0; i < 30; i++) pinging.send(ping()).wait(1000);
  assert.equal(pinging.ended, true);
  const dripping = new Peer().send(headers(1, getOf('/a'), END_STREAM));
  for (let i = 0; i < 10; i++) dripping.send(frame(FRAME.continuation, 0, 1, [])).wait(1000);
  assert.equal(dripping.ended, true);
  const slow = new Peer();
  const octets = Buffer.concat(Array.from({ length: 40 }, (_, i) => headers(2 * i + 1, getOf('/a'))));
  for (let at = 0; at < octets.length; at += 10) slow.send(octets.subarray(at, at + 10)).wait(100);
  assert.equal(slow.requests.length, 40);
  assert.equal(slow.ended, false);
});

test('deadlines: the second body in a row that does not end takes the connection with it; a whole request begins a new row (finding 7 of the second security review)', () => {
  const begin = (peer: Peer, id: number): Peer =>
    peer.send(headers(id, postOf(), END_HEADERS), data(id, 'x', 0));
  const late = begin(new Peer(), 1).wait(10_000);
  assert.equal(late.ended, false);
  assert.deepEqual(
    [begin(late, 3).wait(10_000).ended, late.goaway],
    [true, ERROR.enhanceYourCalm],
    'the second in a row',
  );
  const whole = begin(new Peer(), 1)
    .wait(10_000)
    .send(headers(3, getOf('/a')));
  assert.equal(begin(whole, 5).wait(10_000).ended, false);
  const resetting = begin(new Peer(), 1).send(frame(FRAME.rstStream, 0, 1, [0, 0, 0, 8]));
  assert.equal(resetting.ended, false);
  begin(resetting, 3).send(frame(FRAME.rstStream, 0, 3, [0, 0, 0, 8]));
  assert.deepEqual([resetting.ended, resetting.goaway], [true, ERROR.enhanceYourCalm]);
});

test('deadlines: a body that does not come, and a reply that is not taken', () => {
  const body = new Peer().send(headers(1, postOf(), END_HEADERS), data(1, 'x', 0));
  body.wait(9_999);
  assert.deepEqual(body.faults, []);
  body.wait(1);
  assert.deepEqual([body.faults, body.first?.status], [['too-slow'], '408']);
  assert.equal(body.wait(1000).resetOf(1), ERROR.none);
  const reply = new Peer().send(settings([SETTING.initialWindowSize, 1]), headers(1, getOf('/size/500')));
  for (let i = 0; i < 29; i++) reply.send(windowUpdate(1, 1)).wait(1000);
  assert.equal(reply.resetOf(1), undefined);
  reply.send(windowUpdate(1, 1)).wait(1000);
  assert.deepEqual([reply.resetOf(1), reply.connection.streams], [ERROR.cancel, 0]);
});

test('orderly close: requests in progress are served, later ones are not', async () => {
  const peer = new Peer().send(headers(1, getOf('/never')));
  peer.connection.drain();
  const [first] = peer.of(FRAME.goaway);
  assert.deepEqual(
    [first?.payload.readUInt32BE(0), first?.payload.readUInt32BE(4)],
    [2 ** 31 - 1, ERROR.none],
  );
  peer.send(headers(3, getOf('/b')));
  const asked = peer.of(FRAME.ping).at(-1)!;
  peer.send(frame(FRAME.ping, ACK, 0, asked.payload));
  assert.equal(peer.of(FRAME.goaway).at(-1)?.payload.readUInt32BE(0), 3);
  peer.send(headers(5, postOf(), END_HEADERS), data(5, 'x'));
  assert.deepEqual([peer.ended, peer.requests.length], [false, 2]);
  await peer.answer();
  assert.equal(peer.ended, true);
  const replies = peer.replies();
  assert.deepEqual([replies.get(1)?.body, replies.get(3)?.body, replies.get(5)], ['late', '/b', undefined]);
  assert.equal(peer.of(FRAME.goaway).length, 2);
});

test('a GOAWAY whose PING is not answered counts as seen after half a second', async () => {
  const peer = new Peer();
  peer.connection.drain();
  while (!peer.ended) await new Promise((resolve) => setTimeout(resolve, 5));
  assert.deepEqual(
    peer.of(FRAME.goaway).map(({ payload }) => payload.readUInt32BE(0)),
    [2 ** 31 - 1, 0],
  );
});

test('a peer that sends GOAWAY gets its replies', async () => {
  const peer = new Peer().send(headers(1, getOf('/never')), frame(FRAME.goaway, 0, 0, Buffer.alloc(8)));
  assert.equal(peer.ended, false);
  await peer.answer();
  assert.deepEqual([peer.first?.body, peer.ended], ['late', true]);
});

test('a closed connection: waits for bodies end, and its replies are dropped', async () => {
  const peer = new Peer().send(headers(1, postOf(), END_HEADERS), headers(3, getOf('/never')));
  peer.connection.closed();
  assert.deepEqual(peer.faults, ['gone']);
  const before = peer.received;
  await peer.answer();
  peer.connection.drained();
  peer.wait(100_000);
  assert.equal(peer.received, before);
});

test('a fault of the server ends one connection, and is reported', () => {
  const broken = new Error('broken');
  const peer = new Peer({
    onRequest: () => {
      throw broken;
    },
  });
  peer.send(headers(1, getOf('/a')));
  assert.deepEqual([peer.broken, peer.destroyed], [[broken], true]);
  peer.send(headers(3, getOf('/a')));
  peer.wait(100_000);
  assert.equal(peer.broken.length, 1);
});
