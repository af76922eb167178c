import assert from 'node:assert/strict';
import { createSocket, type Socket } from 'node:dgram';
import { once } from 'node:events';
import { networkInterfaces } from 'node:os';
import { test } from 'node:test';
import { echo, header, idOf, labelOf, makeGate, query, setting, until } from './testing/fakes.ts';
import { listenUdp, type UdpOptions } from './udp.ts';

/** Some containers have no IPv6 at all. */
function hasIpv6(): boolean {
  return Object.values(networkInterfaces()).some((addresses) =>
    addresses?.some(({ address }) => address === '::1'),
  );
}

interface Peer {
  readonly socket: Socket;
  readonly replies: Buffer[];
  readonly send: (message: Uint8Array) => void;
}

async function withUdp(
  options: UdpOptions,
  scenario: (peer: Peer, listener: Awaited<ReturnType<typeof listenUdp>>) => Promise<void>,
): Promise<void> {
  const listener = await listenUdp(options);
  const socket = createSocket(options.host.includes(':') ? 'udp6' : 'udp4');
  const replies: Buffer[] = [];
  socket.on('message', (reply) => replies.push(reply));
  const host = options.host === '::' ? '::1' : options.host;
  try {
    await scenario(
      { socket, replies, send: (message) => socket.send(message, listener.address.port, host) },
      listener,
    );
  } finally {
    socket.close();
    await listener.close(0);
  }
}

test('hot, slow and late answers reach the one who asked', async () => {
  const options = setting();
  await withUdp(options, async ({ replies, send }) => {
    for (const [id, label] of ['hot1', 'echo', 'wait', 'fail'].entries()) send(query(id, label));
    await until(() => replies.length === 3);
    options.handler.gate.open();
    await until(() => replies.length === 4);
    assert.deepEqual(replies.map((reply) => `${idOf(reply)} ${labelOf(reply)} ${reply[3]}`).sort(), [
      '0 hot1 0',
      '1 echo 0',
      '2 wait 0',
      '3 fail 2',
    ]);
    assert.equal(options.observe.count('udp reply 0'), 3);
    assert.equal(options.observe.count('udp reply 2'), 1);
  });
});

test('a burst of hot queries of different lengths comes back octet for octet', async () => {
  const options = setting();
  await withUdp(options, async ({ replies, send }) => {
    const queries = Array.from({ length: 300 }, (_, id) => query(id, `hot${'x'.repeat(id % 50)}`));
    for (const each of queries) send(each);
    await until(() => replies.length === queries.length);
    const byId = new Map(replies.map((reply) => [idOf(reply), reply]));
    for (const [id, each] of queries.entries()) assert.deepEqual(byId.get(id), echo(each));
  });
});

test('silence for what is no query; a handler that throws costs one packet', async () => {
  const options = setting();
  await withUdp(options, async ({ replies, send }) => {
    send(Buffer.alloc(0));
    send(header(1, 0, 0).subarray(0, 11));
    send(query(2, 'mute'));
    send(query(3, 'throw'));
    send(query(4, 'reject'));
    send(query(5, 'echo'));
    await until(() => replies.length > 0 && options.faults.length === 2);
    assert.deepEqual(replies.map(idOf), [5]);
    assert.equal(options.observe.count('udp malformed'), 3);
  });
});

test('the reply limiter may shorten a reply or drop it', async () => {
  const options = setting();
  const seen: string[] = [];
  const limiter = {
    admit(address: string, reply: Uint8Array, length: number): number {
      seen.push(address);
      reply[2]! |= 0x02;
      return labelOf(reply).endsWith('drop') ? 0 : Math.min(length, 12);
    },
  };
  await withUdp({ ...options, limiter }, async ({ replies, send }) => {
    for (const [id, label] of ['hotdrop', 'drop', 'hot', 'echo'].entries()) send(query(id, label));
    await until(() => replies.length === 2 && seen.length === 4);
    assert.deepEqual(replies.map((reply) => `${idOf(reply)} ${reply.length} ${reply[2]! & 0x02}`).sort(), [
      '2 12 2',
      '3 12 2',
    ]);
    assert.deepEqual(new Set(seen), new Set(['127.0.0.1']));
  });
});

test('at most so many queries wait at one time', async () => {
  const options = setting();
  await withUdp({ ...options, inFlight: 3 }, async ({ replies, send }) => {
    for (let id = 0; id < 5; id++) send(query(id, 'wait'));
    send(query(9, 'hot'));
    await until(() => replies.length === 1);
    assert.equal(options.handler.asked.filter((label) => label === 'wait').length, 3);
    options.handler.gate.open();
    await until(() => replies.length === 4);
    options.handler.gate = makeGate();
    send(query(10, 'echo'));
    await until(() => replies.length === 5);
  });
});

test('IPv6, and both families on ::', { skip: !hasIpv6() }, async () => {
  const options = setting('::');
  await withUdp(options, async ({ replies, send }, listener) => {
    send(query(1, 'hot'));
    await until(() => replies.length === 1);
    const other = createSocket('udp4');
    const answered = once(other, 'message');
    other.send(query(2, 'hot'), listener.address.port, '127.0.0.1');
    const [reply] = (await answered) as [Buffer];
    assert.equal(idOf(reply), 2);
    other.close();
  });
});

test('closing waits for what is in flight, and no longer than the grace', async () => {
  const options = setting();
  await withUdp(options, async ({ replies, send }, listener) => {
    send(query(1, 'wait'));
    await until(() => options.handler.asked.length === 1);
    const closed = listener.close(60_000);
    options.handler.gate.open();
    await closed;
    await until(() => replies.length === 1);
  });
  const late = setting();
  await withUdp(late, async ({ send }, listener) => {
    send(query(1, 'wait'));
    await until(() => late.handler.asked.length === 1);
    await listener.close(1);
    late.handler.gate.open();
    await new Promise(setImmediate);
    assert.deepEqual(late.faults, []);
  });
});

test('two listeners share a port with reusePort, and not without', async () => {
  const first = await listenUdp({ ...setting(), reusePort: true });
  const second = await listenUdp({ ...setting(), reusePort: true, port: first.address.port });
  assert.equal(second.address.port, first.address.port);
  await assert.rejects(listenUdp({ ...setting(), port: first.address.port }), { code: 'EADDRINUSE' });
  await Promise.all([first.close(0), second.close(0)]);
});
