import assert from 'node:assert/strict';
import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { test } from 'node:test';
import { connect as connectTls } from 'node:tls';
import { type Setting, setting, until } from '../../../test/support/dns/fakes.ts';
import { makeSelfSigned } from '../../base/certificates.ts';
import { listenDoh } from '../doh/listener.ts';
import { listenDot } from '../stream/stream-server.ts';
import { afterClientHello } from './tls.ts';

const tls = makeSelfSigned({ hosts: [], now: Date.now() });

test('TLS starts with the first octets, and reads them in pieces of less than 1 KiB', async () => {
  const sent = Buffer.from(Array.from({ length: 2500 }, (_, i) => i));
  const begun = Promise.withResolvers<{ pieces: Buffer[]; restored: boolean; socket: Socket }>();
  const server = createServer((socket) => {
    // As TLS does: it reads in the next tick, and a `read(0)` comes before.
    process.nextTick(() => {
      const pieces: Buffer[] = [];
      for (let piece = socket.read(); piece !== null; piece = socket.read()) pieces.push(piece);
      const own = Object.getPrototypeOf(socket) as Record<string, unknown>;
      const restored = Reflect.get(socket, 'read') === own.read;
      begun.resolve({ pieces, restored, socket });
    });
  });
  server.on('connection', afterClientHello(server));
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const client = connect((server.address() as AddressInfo).port, '127.0.0.1');
  client.write(sent);
  const { pieces, restored, socket } = await begun.promise;
  // The kernel may bring the octets in several reads.
  const read = Buffer.concat(pieces);
  assert.ok(read.length > 0 && read.equals(sent.subarray(0, read.length)));
  for (const piece of pieces) assert.ok(piece.length < 1024, `${piece.length} octets`);
  assert.ok(restored, 'the socket keeps its own read');
  socket.destroy();
  client.destroy();
  server.close();
});

for (const [name, listen] of [
  ['DoT', (options: Setting) => listenDot({ ...options, tls })],
  ['DoH', (options: Setting) => listenDoh({ ...options, tls, json: () => ({ kind: 'refused', error: '' }) })],
] as const) {
  test(`${name}: pieces that are no TLS, and an end without octets, cost their own connection alone`, async () => {
    const options = setting();
    const listener = await listen(options);
    const { port } = listener.address;
    const garbage = connect(port, '127.0.0.1');
    const silent = connect(port, '127.0.0.1');
    for (const client of [garbage, silent]) client.on('error', () => client.destroy()).resume();
    garbage.write(Buffer.alloc(5000, 'x'));
    silent.end();
    await until(() => options.observe.count(`${listener.transport} closed`) === 2);
    const good = connectTls({ host: '127.0.0.1', port, ca: tls.cert });
    await once(good, 'secureConnect');
    good.destroy();
    assert.deepEqual(options.faults, []);
    await listener.close(0);
  });
}
