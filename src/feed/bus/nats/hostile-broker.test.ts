/** A broker that answers nothing, goes away at any moment, or sends messages above every bound of the feed. */
import assert from 'node:assert/strict';
import dns from 'node:dns';
import { once } from 'node:events';
import { type AddressInfo, createServer, type Socket } from 'node:net';
import { it } from 'node:test';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { verifier } from '../../../../test/support/feed/batch/messages.ts';
import { inState } from '../../../../test/support/feed/bus/bus-suite.ts';
import { LIMITS } from '../../../base/limits.ts';
import { openBatch } from '../../message/batch.ts';
import type { Bus } from '../bus.ts';
import { openNatsBus } from './nats-bus.ts';

const SUBJECT = 'uqrp.v1.live';
/** The NATS client's own bound of a message; it has no setting for it. */
const CLIENT_MAX = 67_108_864;
/** Of an attempt to connect, and until the next one. */
const [CONNECT_MS, AGAIN_MS] = [2_000, 10];
/** Between two pings. */
const PING_MS = 2_000;
const INFO = `INFO ${JSON.stringify({ server_id: 'x', version: '2.10.0', proto: 1, headers: true, max_payload: 1_048_576 })}\r\n`;

interface Hostile {
  readonly address: string;
  /** In the order in which they came. */
  readonly sockets: readonly Socket[];
  /** Of `SUBJECT`, on the last connection. */
  send(length: number, octets: Uint8Array): void;
  close(): Promise<void>;
}

/** Takes connections; the test sends the rest. @param onPing the `count`th of a connection, from 1 on; left out: it is answered */
async function hostileBroker(
  greeting: string,
  onPing = (socket: Socket, _count: number): void => void socket.write('PONG\r\n'),
  { host = '127.0.0.1', port = 0 } = {},
): Promise<Hostile> {
  const sockets: Socket[] = [];
  /** Number of the subscription to `SUBJECT`, on the last connection. */
  let sid: string | undefined;
  const server = createServer((socket) => {
    sockets.push(socket);
    let pings = 0;
    socket.on('error', () => {});
    socket.on('data', (data: Buffer) => {
      const text = data.toString();
      sid = /^SUB uqrp\.v1\.live (\S+)/m.exec(text)?.[1] ?? sid;
      for (const _ of text.matchAll(/^PING/gm)) onPing(socket, ++pings);
    });
    socket.write(greeting);
  }).listen(port, host);
  await once(server, 'listening');
  return {
    address: `${host}:${(server.address() as AddressInfo).port}`,
    sockets,
    send(length, octets) {
      sockets.at(-1)!.write(`MSG ${SUBJECT} ${sid} ${length}\r\n`);
      sockets.at(-1)!.write(octets);
      sockets.at(-1)!.write('\r\n');
    },
    async close() {
      for (const socket of sockets) socket.destroy();
      server.close();
      await once(server, 'close');
    },
  };
}

const openBus = (...brokers: readonly Pick<Hostile, 'address'>[]): Bus => reportingBus(() => {}, ...brokers);

const reportingBus = (
  onError: (error: unknown) => void,
  ...brokers: readonly Pick<Hostile, 'address'>[]
): Bus =>
  openNatsBus({
    servers: brokers.map(({ address }) => address),
    inboxPrefix: '_INBOX.n1',
    streams: null,
    onError,
  });

it('a broker that does not answer is tried again as soon as an attempt has ended, and no socket of an attempt stays', async (t) => {
  const broker = await hostileBroker('');
  t.mock.timers.enable({ apis: ['setTimeout'] });
  const bus = openBus(broker);
  for (let attempt = 1; attempt <= 3; attempt++) {
    while (broker.sockets.length < attempt) await nextTurn();
    t.mock.timers.tick(CONNECT_MS);
    // Less than the delay after an attempt that was refused.
    for (let waited = 0; waited < 50; waited += AGAIN_MS) {
      await nextTurn();
      t.mock.timers.tick(AGAIN_MS);
    }
    const socket = broker.sockets[attempt - 1]!;
    while (!socket.closed) await nextTurn();
  }
  // Nor does the end wait for an attempt.
  await bus.close();
  await broker.close();
});

it('a broker that goes away before it has the subscriptions is connected to again', async () => {
  let lost = 0;
  const broker = await hostileBroker(INFO, (socket, count) => {
    // The first ping ends the attempt; the second one follows the subscriptions.
    if (count === 2 && lost < 2) {
      lost++;
      socket.destroy();
    } else socket.write('PONG\r\n');
  });
  const bus = openBus(broker);
  bus.subscribe(SUBJECT, () => {});
  try {
    await inState(bus, 'connected');
    assert.deepEqual([lost, broker.sockets.length], [2, 3]);
  } finally {
    await bus.close();
    await broker.close();
  }
});

it('a bus can be closed while the broker has yet to take the subscriptions', async () => {
  const asked = Promise.withResolvers<void>();
  const broker = await hostileBroker(INFO, (socket, count) => {
    if (count === 1) socket.write('PONG\r\n');
    else asked.resolve();
  });
  const bus = openBus(broker);
  await asked.promise;
  await bus.close();
  assert.equal(bus.state(), 'disconnected');
  await broker.close();
});

it('a name that also has addresses which end or refuse each connection is connected to', async (t) => {
  const ends = [
    (socket: Socket): void => void socket.destroy(),
    (socket: Socket): void => void socket.end("-ERR 'Authorization Violation'\r\n"),
    (socket: Socket): void => void socket.end("-ERR 'maximum connections exceeded'\r\n"),
  ];
  const right = await hostileBroker(INFO);
  const port = Number(right.address.split(':')[1]);
  const wrong = await hostileBroker(INFO, (socket) => ends[wrong.sockets.length % 3]!(socket), {
    host: '127.0.0.2',
    port,
  });
  const addresses = ['127.0.0.2', '127.0.0.1'].map((address) => ({ address, family: 4 }));
  t.mock.method(dns, 'lookup', (_name: string, _options: object, done: (...found: unknown[]) => void) =>
    done(null, addresses),
  );
  // The client takes the addresses in any order.
  for (let round = 0; round < 12; round++) {
    const bus = openBus({ address: `broker.example:${port}` });
    await inState(bus, 'connected');
    await bus.close();
  }
  assert.notEqual(wrong.sockets.length, 0);
  await wrong.close();
  await right.close();
});

it('of several brokers the next one is used once one has stood still for two seconds in the handshake', async (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] });
  let asked = (): void => {};
  const [still, right] = [await hostileBroker(INFO, () => asked()), await hostileBroker(INFO)];
  // The client takes them in any order.
  while (still.sockets.length < 4) {
    const stands = new Promise<void>((resolve) => {
      asked = resolve;
    });
    const bus = openBus(still, right);
    const connected = inState(bus, 'connected');
    await Promise.race([stands, connected]);
    t.mock.timers.tick(CONNECT_MS);
    await connected;
    await bus.close();
  }
  await still.close();
  await right.close();
});

it('a call whose connection is lost was perhaps done', async () => {
  const broker = await hostileBroker(INFO);
  const bus = openBus(broker);
  await inState(bus, 'connected');
  const asked = bus.request('question', new Uint8Array(1), 60_000);
  broker.sockets[0]!.destroy();
  await assert.rejects(asked, { name: 'BusError', reason: 'timeout' });
  await bus.close();
  await broker.close();
});

it('a handler that throws is reported, and hears what comes next', async () => {
  const broker = await hostileBroker(INFO);
  const errors: unknown[] = [];
  const bus = reportingBus((error) => errors.push(error), broker);
  const heard: number[] = [];
  const both = Promise.withResolvers<void>();
  const fault = new Error('a fault of this program');
  bus.subscribe(SUBJECT, (data) => {
    heard.push(data.length);
    if (heard.length === 1) throw fault;
    both.resolve();
  });
  await inState(bus, 'connected');
  broker.send(1, Buffer.from('a'));
  broker.send(2, Buffer.from('bc'));
  await both.promise;
  assert.deepEqual([heard, errors], [[1, 2], [fault]]);
  await bus.close();
  await broker.close();
});

it('a broker that takes nothing more while much is published is gone after three pings, whatever other connections of the process do', async (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] });
  const [broker, silent] = [await hostileBroker(INFO), await hostileBroker('')];
  const bus = openBus(broker);
  const other = openBus(silent);
  try {
    await inState(bus, 'connected');
    broker.sockets[0]!.pause();
    for (let i = 0; i < 32; i++) bus.publish(SUBJECT, new Uint8Array(LIMITS.feedMessage));
    for (let ping = 1; ping <= 3; ping++) {
      await nextTurn();
      assert.equal(bus.state(), 'connected', `${ping}`);
      t.mock.timers.tick(PING_MS);
    }
    await inState(bus, 'disconnected');
  } finally {
    const closed = bus.close();
    t.mock.timers.tick(CONNECT_MS);
    await closed;
    await other.close();
    await silent.close();
    await broker.close();
  }
});

it('a message above the bound of the feed is refused by its reader; above 64 MB the connection ends, and is made again', async () => {
  const broker = await hostileBroker(INFO);
  const heard: Uint8Array[] = [];
  const bus = openBus(broker);
  const received = Promise.withResolvers<void>();
  bus.subscribe(SUBJECT, (data) => {
    heard.push(data);
    received.resolve();
  });
  try {
    await inState(bus, 'connected');
    broker.send(2 * LIMITS.feedMessage, Buffer.alloc(2 * LIMITS.feedMessage, 'x'));
    await received.promise;
    assert.throws(() => openBatch(heard[0]!, verifier), { reason: 'size' });
    // No octet of it is waited for.
    broker.send(CLIENT_MAX + 1, new Uint8Array(0));
    await inState(bus, 'disconnected');
    await inState(bus, 'connected');
    assert.equal(heard.length, 1);
  } finally {
    await bus.close();
    await broker.close();
  }
});
