import assert from 'node:assert/strict';
import type { Socket } from 'node:net';
import { Duplex } from 'node:stream';
import { describe, test } from 'node:test';
import { setImmediate as turn } from 'node:timers/promises';
import { frame, idOf, query, runsOf, setting, until } from '../../../test/support/dns/fakes.ts';
import { ReplyDecorator } from '../shared/edns.ts';
import { MISSES_A_TURN } from '../shared/handler.ts';
import type { ListenOptions } from '../shared/listener.ts';
import { StreamTurns } from '../shared/turns.ts';
import { WRITE_BUFFER_OCTETS } from './framing.ts';
import { StreamConnection } from './stream-connection.ts';

const HUNDREDS = 100;
const HOUR_MS = 3_600_000;

/** Connections of one listener, and the order of answers: the connection of each, by number. */
function listener() {
  const order: number[] = [];
  const options = setting();
  const { handler } = options;
  const own: ListenOptions['handler'] = {
    ...handler,
    hot(request, length, transport, out) {
      const octets = handler.hot(request, length, transport, out);
      if (octets > 0) order.push(idOf(request));
      return octets;
    },
    slow(request, ...rest) {
      order.push(idOf(request));
      return handler.slow(request, ...rest);
    },
  };
  const turns = new StreamTurns();
  const transport = 'tcp' as const;
  const decorator = new ReplyDecorator('tcp', { cookies: null });
  const time = { now: 0 };
  const connections: StreamConnection[] = [];
  /** @returns the socket of a peer that reads */
  const connect = (): Duplex => {
    const socket = new Duplex({ read() {}, write: (_chunk, _encoding, done) => done() });
    const peer = Object.assign(socket, { setNoDelay() {} }) as unknown as Socket;
    const context = {
      ...options,
      clock: () => time.now,
      handler: own,
      transport,
      decorator,
      pipeline: 128,
      turns,
    };
    connections.push(new StreamConnection(peer, '127.0.0.1', context));
    return socket;
  };
  return { order, connect, connections, time };
}

/** So many queries of the connection of this number in one read. */
function queries(count: number, connection: number, label = 'fresh'): Buffer {
  return Buffer.concat(Array.from({ length: count }, () => frame(query(connection, label))));
}

describe('connections take turns', () => {
  test('one with many queries that need a signature delays the next by those of one turn', async () => {
    const { order, connect } = listener();
    connect().push(queries(HUNDREDS, 1));
    connect().push(queries(3, 2));
    await until(() => order.length === HUNDREDS + 3);
    assert.equal(runsOf(order), `1x${MISSES_A_TURN} 2x3 1x${HUNDREDS - MISSES_A_TURN}`);
  });

  test('all together answer no more in a turn of the event loop than one may, and sockets are read before the next', async () => {
    const { order, connect } = listener();
    const connections = [1, 2, 3, 4];
    for (const one of connections) connect().push(queries(2 * MISSES_A_TURN, one));
    const after: number[] = [];
    while (order.length < connections.length * 2 * MISSES_A_TURN) {
      await turn();
      after.push(order.length);
    }
    const steps = after.map((count, i) => count - (after[i - 1] ?? 0));
    assert.ok(Math.max(...steps) <= MISSES_A_TURN, steps.join(' '));
    assert.equal(
      runsOf(order),
      [...connections, ...connections].map((one) => `${one}x${MISSES_A_TURN}`).join(' '),
    );
  });

  test('a read so long that no more is gathered gives no turn beside the others', async () => {
    const { order, connect } = listener();
    const connections = 5;
    const octets = Math.ceil(WRITE_BUFFER_OCTETS / MISSES_A_TURN);
    for (let one = 1; one <= connections; one++) {
      const long = frame(Buffer.concat([query(one, 'fresh'), Buffer.alloc(octets)]));
      connect().push(Buffer.concat(Array.from({ length: MISSES_A_TURN }, () => long)));
    }
    for (let turns = 1; turns <= connections; turns++) {
      await turn();
      assert.ok(order.length <= turns * MISSES_A_TURN, `${order.length} answers in ${turns} turns`);
    }
    await until(() => order.length === connections * MISSES_A_TURN);
  });

  test('a connection that waits long for its turn does not count as silent', async () => {
    const { order, connect, connections, time } = listener();
    for (const one of [1, 2]) connect().push(queries(MISSES_A_TURN, one));
    while (order.length === 0) await turn();
    time.now = HOUR_MS;
    const isOverdue = (): boolean => connections[1]!.isOverdue(time.now, HOUR_MS, HOUR_MS);
    assert.equal(isOverdue(), false, 'it waits');
    await until(() => order.length === 2 * MISSES_A_TURN);
    await turn();
    assert.equal(isOverdue(), false, 'it was answered now');
    time.now = 2 * HOUR_MS;
    assert.equal(isOverdue(), true);
  });

  test('answers from the packet cache end no turn', async () => {
    const { order, connect } = listener();
    for (const one of [1, 2, 3]) connect().push(queries(HUNDREDS, one, 'hot'));
    await until(() => order.length === 3 * HUNDREDS);
    assert.equal(runsOf(order), [1, 2, 3].map((one) => `${one}x${HUNDREDS}`).join(' '));
  });

  test('a connection that closes leaves its turn to the next', async () => {
    const { order, connect } = listener();
    const first = connect();
    first.push(queries(HUNDREDS, 1));
    connect().push(queries(2, 2));
    while (order.length === 0) await turn();
    first.destroy();
    for (let i = 0; i < 10; i++) await turn();
    assert.equal(runsOf(order), `1x${MISSES_A_TURN} 2x2`);
  });
});
