/** A broker that sends messages above every bound of the feed. The NATS client has a bound of its own, and no setting for it. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { type AddressInfo, createServer, type Socket } from 'node:net';
import { it } from 'node:test';
import { verifier } from '../../../../test/support/feed/batch/messages.ts';
import { inState } from '../../../../test/support/feed/bus/bus-suite.ts';
import { LIMITS } from '../../../base/limits.ts';
import { openBatch } from '../../message/batch.ts';
import { openNatsBus } from './nats-bus.ts';

const SUBJECT = 'uqrp.v1.live';
const CLIENT_MAX = 67_108_864;
const INFO = `INFO ${JSON.stringify({ server_id: 'x', version: '2.10.0', proto: 1, headers: true, max_payload: 1_048_576 })}\r\n`;

/** Takes connections and pings as a broker does; the test sends the rest. */
async function hostileBroker() {
  const sockets: Socket[] = [];
  /** Number of the subscription to `SUBJECT`, on the last connection. */
  let sid: string | undefined;
  const server = createServer((socket) => {
    sockets.push(socket);
    socket.on('error', () => {});
    socket.on('data', (data: Buffer) => {
      const text = data.toString();
      sid = /^SUB uqrp\.v1\.live (\S+)/m.exec(text)?.[1] ?? sid;
      for (const _ of text.matchAll(/^PING/gm)) socket.write('PONG\r\n');
    });
    socket.write(INFO);
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    address: `127.0.0.1:${(server.address() as AddressInfo).port}`,
    send(length: number, octets: Uint8Array): void {
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

it('a message above the bound of the feed is refused by its reader; above 64 MB the connection ends, and is made again', async () => {
  const broker = await hostileBroker();
  const errors: unknown[] = [];
  const heard: Uint8Array[] = [];
  const bus = openNatsBus({
    servers: [broker.address],
    inboxPrefix: '_INBOX.n1',
    streams: null,
    onError: (error) => errors.push(error),
  });
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
