import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { setImmediate as turn } from 'node:timers/promises';
import { ACK, frame, getOf, headers, Peer, ping, rst } from '../../../../test/support/dns/doh/http2/peer.ts';
import { runsOf, until } from '../../../../test/support/dns/fakes.ts';
import { MISSES_A_TURN } from '../../shared/handler.ts';
import { StreamTurns } from '../../shared/turns.ts';
import { FRAME } from './frames.ts';
import { INPUT_OCTETS } from './limits.ts';

const HUNDRED = 100;
const HOUR_MS = 3_600_000;

/** Connections of one listener, and the order of answers: the connection of each, by number. */
function listener() {
  const order: number[] = [];
  const turns = new StreamTurns();
  let misses = 0;
  /** @param isMiss whether its answers are made anew */
  const connect = (number: number, isMiss = true): Peer =>
    new Peer({
      turns,
      misses: () => misses,
      onRequest(stream) {
        order.push(number);
        if (isMiss) misses++;
        stream.respond({ status: 200, headers: {}, body: Buffer.from('answer') });
      },
    });
  return { order, connect };
}

/** So many requests in one read. */
function requests(count: number): Buffer {
  return Buffer.concat(Array.from({ length: count }, (_, i) => headers(2 * i + 1, getOf('/'))));
}

describe('HTTP/2 connections take turns', () => {
  test('one with many requests that need a signature delays the next by those of one turn', async () => {
    const { order, connect } = listener();
    const busy = connect(1).send(requests(HUNDRED));
    connect(2).send(requests(3));
    await until(() => order.length === HUNDRED + 3);
    assert.equal(runsOf(order), `1x${MISSES_A_TURN} 2x3 1x${HUNDRED - MISSES_A_TURN}`);
    const replies = [...busy.replies().values()];
    assert.deepEqual([replies.length, replies.every(({ ended }) => ended)], [HUNDRED, true]);
  });

  test('all together answer no more in a turn of the event loop than one may, and sockets are read before the next', async () => {
    const { order, connect } = listener();
    const connections = [1, 2, 3, 4];
    for (const one of connections) connect(one).send(requests(2 * MISSES_A_TURN));
    let before = 0;
    while (order.length < connections.length * 2 * MISSES_A_TURN) {
      await turn();
      assert.ok(order.length - before <= MISSES_A_TURN, `${order.length - before} in one turn`);
      before = order.length;
    }
    const round = connections.map((one) => `${one}x${MISSES_A_TURN}`);
    assert.equal(runsOf(order), [...round, ...round].join(' '));
  });

  test('answers from the packet cache end no turn', async () => {
    const { order, connect } = listener();
    for (const one of [1, 2, 3]) connect(one, false).send(requests(HUNDRED));
    await until(() => order.length === 3 * HUNDRED);
    assert.equal(runsOf(order), [1, 2, 3].map((one) => `${one}x${HUNDRED}`).join(' '));
  });

  test('a connection that closes leaves its turn to the next, and nothing more of it is answered', async () => {
    const { order, connect } = listener();
    const first = connect(1).send(requests(HUNDRED));
    connect(2).send(requests(2));
    while (order.length === 0) await turn();
    first.connection.closed();
    for (let i = 0; i < 10; i++) await turn();
    assert.equal(runsOf(order), `1x${MISSES_A_TURN} 2x2`);
  });

  test('a connection that is closed in order answers what waited before, and ends', async () => {
    const { order, connect } = listener();
    const peer = connect(1).send(requests(HUNDRED));
    while (order.length === 0) await turn();
    peer.connection.drain();
    await turn();
    peer.send(frame(FRAME.ping, ACK, 0, peer.of(FRAME.ping).at(-1)!.payload));
    await until(() => peer.ended);
    const replies = [...peer.replies().values()];
    assert.deepEqual([replies.length, replies.every(({ ended }) => ended)], [HUNDRED, true]);
  });

  test('a stream that is reset while its request waits ends with that, and the connection goes on', async () => {
    const { order, connect } = listener();
    const last = 2 * MISSES_A_TURN + 1;
    const peer = connect(1).send(requests(MISSES_A_TURN + 1), rst(last), ping());
    await until(() => order.length === MISSES_A_TURN + 1);
    await turn();
    assert.deepEqual([peer.goaway, peer.connection.streams, peer.of(FRAME.ping).length], [undefined, 0, 1]);
    peer.send(headers(last + 2, getOf('/')));
    await until(() => order.length === MISSES_A_TURN + 2);
    await turn();
    assert.equal(peer.replies().get(last + 2)?.ended, true);
  });

  test('a connection that waits long for its turn is not idle, and keeps its place', async () => {
    const { order, connect } = listener();
    connect(1).send(requests(MISSES_A_TURN));
    const waits = connect(2).send(requests(MISSES_A_TURN));
    while (order.length === 0) await turn();
    assert.equal(waits.connection.idleSince, null);
    waits.wait(HOUR_MS);
    assert.equal(waits.ended, false, 'it waits');
    await until(() => order.length === 2 * MISSES_A_TURN);
    assert.deepEqual([waits.ended, waits.connection.idleSince], [false, waits.now], 'it was answered now');
    waits.wait(HOUR_MS);
    assert.equal(waits.ended, true);
  });

  test('one that waits for its turn with what is no request is idle, and may give way', async () => {
    const { order, connect } = listener();
    const peer = connect(2).send(ping());
    await until(() => peer.of(FRAME.ping).length === 1);
    const isIdle = (...frames: Buffer[]): boolean => {
      connect(1).send(requests(MISSES_A_TURN));
      peer.send(...frames);
      return peer.connection.idleSince !== null;
    };
    const settled = async () => {
      const done = order.length + MISSES_A_TURN;
      await until(() => order.length >= done);
      for (let i = 0; i < 5; i++) await turn();
    };
    const pings = Array.from({ length: 16 }, () => ping());
    assert.equal(isIdle(...pings), true);
    await settled();
    assert.equal(isIdle(ping(), ...pings), false, 'more than is looked at');
    await settled();
    assert.equal(isIdle(ping(), headers(1, getOf('/'))), false);
    await settled();
    assert.equal(isIdle(ping(), headers(3, getOf('/')).subarray(0, 5)), false);
  });

  test('deadlines that passed while a connection waited count after its turn', async () => {
    const { order, connect } = listener();
    connect(1).send(requests(MISSES_A_TURN));
    const half = headers(1, getOf('/'));
    const waits = connect(2).send(half.subarray(0, half.length - 1));
    while (order.length === 0) await turn();
    waits.wait(HOUR_MS);
    assert.equal(waits.ended, false, 'it waits');
    await turn();
    assert.equal(waits.ended, true);
  });

  test('what waits for a turn is bounded: nothing more is read, and reading goes on with the turn', async () => {
    const { order, connect } = listener();
    connect(1).send(requests(MISSES_A_TURN));
    const peer = connect(2);
    const pings = Buffer.concat(Array.from({ length: 8 }, () => ping()));
    for (let octets = 0; octets < INPUT_OCTETS - pings.length; octets += pings.length) {
      peer.send(pings);
      assert.equal(peer.paused, false);
    }
    peer.send(pings);
    assert.equal(peer.paused, true);
    await until(() => order.length === MISSES_A_TURN);
    await until(() => !peer.paused || peer.ended);
  });
});
