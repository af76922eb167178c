import assert from 'node:assert/strict';
import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { afterEach, describe, test } from 'node:test';
import {
  data,
  getOf,
  headers,
  Peer,
  settings,
  windowUpdate,
} from '../../../../test/support/dns/doh/http2/peer.ts';
import { until } from '../../../../test/support/dns/fakes.ts';
import { createHeldOctets } from '../../../base/lifecycle/held-octets.ts';
import { createPlaces, type Holder } from '../../../base/lifecycle/places.ts';
import { StreamTurns } from '../../shared/turns.ts';
import { Http2Server } from './connection.ts';
import { ERROR, PREFACE, SETTING } from './frames.ts';
import { commonHeaders } from './hpack-encoder.ts';

/** DATA on stream 0: the server ends the connection. */
const FAULT = data(0, 'x', 0);
const REQUEST_MS = 40;
/** Less than a socket holds before it is full: the connection does not wait for it. */
const REPLY = Buffer.alloc(8_000, 'x');

test('a connection that was ended, and whose end is not taken, is closed after ten seconds', () => {
  const peer = new Peer().send(FAULT);
  assert.deepEqual([peer.ended, peer.goaway], [true, ERROR.protocol]);
  peer.wait(9_999);
  assert.equal(peer.destroyed, false);
  peer.wait(1);
  assert.equal(peer.destroyed, true);
});

test('a connection that is over gives way before one that has been idle for longer', () => {
  const [idle, over] = [new Peer(), new Peer()];
  over.wait(5_000).send(headers(1, getOf('/a')), FAULT);
  const places = createPlaces({ all: 2 });
  const ended: string[] = [];
  for (const [name, { connection }] of Object.entries({ idle, over })) {
    places.enter(name, { since: () => connection.idleSince, giveWay: () => ended.push(name) });
  }
  assert.notEqual(places.enter('new'), null);
  assert.deepEqual(ended, ['over']);
});

describe('a peer that stops reading, and whose connection the server ends', () => {
  const opened: (() => void)[] = [];
  afterEach(() => {
    for (const close of opened.splice(0)) close();
  });

  /** A connection that is over, on a socket that takes no octet more. */
  async function unreadEnd(
    clock: () => number,
  ): Promise<{ readonly socket: Socket; readonly holder: Holder }> {
    let asked = 0;
    const http2 = new Http2Server({
      limits: { streams: 100, body: 65_535, requestMs: REQUEST_MS, idleMs: 60_000 },
      clock,
      onRequest: (stream) => {
        asked++;
        stream.respond({ status: 200, headers: {}, body: REPLY });
      },
      onFault: assert.ifError,
      turns: new StreamTurns(),
      misses: () => 0,
      held: createHeldOctets(Number.POSITIVE_INFINITY),
      common: commonHeaders({}),
    });
    const server = createServer();
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    const client = connect((server.address() as AddressInfo).port, '127.0.0.1').pause();
    client.on('error', () => {});
    const [socket] = (await once(server, 'connection')) as [Socket];
    opened.push(() => {
      client.destroy();
      socket.destroy();
      server.close();
      http2.stop();
    });
    const holder = http2.serve(socket, '192.0.2.1');
    client.write(PREFACE);
    client.write(settings([SETTING.initialWindowSize, 2 ** 31 - 1]));
    client.write(windowUpdate(0, 2 ** 30));
    /** Whether the system has taken all, or takes nothing for as many turns of the event loop. */
    const isFull = async (): Promise<boolean> => {
      for (let turn = 0; turn < 100 && socket.writableLength > 0; turn++) await new Promise(setImmediate);
      return socket.writableLength > 0;
    };
    for (let id = 1; !(await isFull()); id += 2) {
      const before = asked;
      client.write(headers(id, getOf('/a')));
      await until(() => asked > before);
    }
    client.write(FAULT);
    await until(() => holder.since() === Number.NEGATIVE_INFINITY);
    assert.deepEqual([socket.destroyed, socket.writableEnded], [false, true]);
    return { socket, holder };
  }

  test('its socket is closed in its time', async () => {
    let now = 0;
    const { socket } = await unreadEnd(() => now);
    now += REQUEST_MS;
    await once(socket, 'close');
  });

  test('it can be evicted', async () => {
    const { socket, holder } = await unreadEnd(() => 0);
    holder.giveWay();
    await once(socket, 'close');
  });
});
