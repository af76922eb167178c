import assert from 'node:assert/strict';
import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import { readdirSync } from 'node:fs';
import { describe, test } from 'node:test';
import { Worker } from 'node:worker_threads';
import { echo, query, setting, until } from '../../../test/support/dns/fakes.ts';
import { udpSuite } from '../../../test/support/dns/udp/udp-suite.ts';
import { FATAL } from '../../../test/support/dns/udp/udp-worker.ts';
import { corpus, mutate, seededRng } from '../../../test/support/protocol/dns/fuzz.ts';
import type { PacketHandler } from '../shared/handler.ts';
import { listenUdpBatch, loadUdpAddon, type UdpAddon } from './batch-listener.ts';
import { listenUdp } from './node-listener.ts';
import type { UdpOptions } from './replies.ts';

const loaded = loadUdpAddon();
const addon = loaded!;
const skip = loaded === null ? 'no addon for this platform' : false;

udpSuite('listenUdpBatch', (options) => listenUdpBatch(options, addon), { skip });

/** What one socket sends and gets back. */
async function asClient<T>(
  work: (client: {
    readonly send: (message: Uint8Array, port: number) => void;
    readonly replies: Buffer[];
  }) => Promise<T>,
): Promise<T> {
  const socket = createSocket('udp4');
  socket.bind(0, '127.0.0.1');
  await once(socket, 'listening');
  socket.setRecvBufferSize(4 * 1024 * 1024);
  const replies: Buffer[] = [];
  socket.on('message', (reply) => replies.push(reply));
  try {
    return await work({ send: (message, port) => socket.send(message, port, '127.0.0.1'), replies });
  } finally {
    socket.close();
  }
}

const MARKS = 1200;

/** Says of each message how long it is and what it holds, in a reply of a fixed size, whatever it is. */
function digester(): PacketHandler {
  const digest = (message: Uint8Array, length: number): Buffer => {
    const reply = Buffer.alloc(MARKS);
    reply.writeUInt32BE(length, 4);
    let sum = 0;
    for (let i = 0; i < length; i++) sum = (Math.imul(sum, 31) + message[i]!) >>> 0;
    reply.writeUInt32BE(sum, 8);
    return reply;
  };
  return {
    hot(request, length, _transport, out) {
      if (length % 3 !== 0) return 0;
      const reply = digest(request, length);
      out.set(reply);
      return reply.length;
    },
    slow(request) {
      const reply = digest(request, request.length);
      return request.length % 3 === 1 ? reply : Promise.resolve(reply);
    },
    nameShare: () => 0,
    isSpent: () => false,
  };
}

/** The replies to some messages, sent so many at a time, in an order of their own. */
async function answersOf(
  listen: (options: UdpOptions) => ReturnType<typeof listenUdp>,
  messages: readonly Uint8Array[],
  atOnce: number,
): Promise<string[]> {
  const listener = await listen({ ...setting(), handler: digester() });
  try {
    return await asClient(async ({ send, replies }) => {
      for (let at = 0; at < messages.length; at += atOnce) {
        const burst = messages.slice(at, at + atOnce);
        for (const message of burst) send(message, listener.address.port);
        await until(() => replies.length >= Math.min(at + atOnce, messages.length));
      }
      return replies.map((reply) => reply.toString('hex', 0, 12)).sort();
    });
  } finally {
    await listener.close(0);
  }
}

describe('listenUdpBatch by itself', { skip }, () => {
  test('datagrams of all sizes are read as by listenUdp', async () => {
    const rng = seededRng(1);
    const sizes = [0, 1, 11, 12, 511, 512, 513, 4095, 4096, 4097, 9000, 65_506, 65_507];
    for (let i = 0; i < 200; i++) sizes.push(rng(65_508));
    const messages = sizes.map((size) => Buffer.alloc(size, rng(256)));
    // One at a time: a receive buffer need not have room for more of the largest.
    const byBatch = await answersOf((options) => listenUdpBatch(options, addon), messages, 1);
    assert.deepEqual(byBatch, await answersOf(listenUdp, messages, 1));
  });

  test('so are mutated messages', async () => {
    const rng = seededRng(2);
    const seeds = corpus();
    const messages = Array.from({ length: 5000 }, () => mutate(seeds[rng(seeds.length)]!, rng));
    const byBatch = await answersOf((options) => listenUdpBatch(options, addon), messages, 50);
    assert.deepEqual(byBatch, await answersOf(listenUdp, messages, 50));
  });

  test('it may be closed by an answer, and opened again on the same port', async () => {
    const options = setting();
    let port = 0;
    for (let i = 0; i < 20; i++) {
      const closed = Promise.withResolvers<void>();
      const listener = await listenUdpBatch(
        {
          ...options,
          port,
          handler: {
            ...options.handler,
            hot(request, length, _transport, out) {
              listener.close(0).then(closed.resolve, closed.reject);
              out.set(request.subarray(0, length));
              return length;
            },
          },
        },
        addon,
      );
      port = listener.address.port;
      await asClient(async ({ send }) => {
        for (let id = 0; id < 5; id++) send(query(id, 'hot'), port);
        await closed.promise;
      });
    }
    assert.deepEqual(options.faults, []);
  });

  test('what was opened is closed: no descriptor is left', async () => {
    const descriptors = (): number => readdirSync('/proc/self/fd').length;
    const before = descriptors();
    const rounds = 50;
    for (let i = 0; i < rounds; i++) {
      const listener = await listenUdpBatch(setting(), addon);
      await assert.rejects(listenUdpBatch({ ...setting(), port: listener.address.port }, addon), {
        code: 'EADDRINUSE',
        message: 'bind EADDRINUSE',
      });
      await assert.rejects(listenUdpBatch({ ...setting(), host: 'localhost' }, addon), { code: 'EINVAL' });
      await Promise.all([listener.close(0), listener.close(1)]);
    }
    // Other tests of this process may still be closing theirs.
    assert.ok(descriptors() < before + rounds);
  });

  test('the addon takes no harm from arguments of other kinds', () => {
    const endpoint = addon.open('127.0.0.1', 0, false, () => {});
    assert.ok(typeof endpoint === 'object');
    const wild = addon as unknown as Record<keyof UdpAddon, (...args: unknown[]) => unknown>;
    const peer = new Uint8Array(32);
    const odd = [undefined, null, 1, 'x', {}, [], peer, new Float64Array(4), endpoint.memory, () => {}];
    for (const value of odd) {
      assert.throws(() => wild.open(value, 0, false));
      assert.throws(() => wild.open('127.0.0.1', value === 1 ? -0.5 : value, value, value));
      wild.send(value, peer, peer, 12);
      wild.send(endpoint, value, peer, 12);
      wild.send(endpoint, peer, value, 12);
      wild.send(endpoint, peer, peer, value);
      wild.flush(value, 1);
      if (value !== 1) wild.flush(endpoint, value);
      if (value !== endpoint) wild.close(value);
    }
    for (const octets of [-1, 33, 2 ** 31, 2 ** 32, Number.NaN]) addon.send(endpoint, peer, peer, octets);
    addon.send(endpoint, peer.subarray(0, 15), peer, 1);
    addon.flush(endpoint, addon.layout.slots + 1);
    addon.close(endpoint);
    addon.close(endpoint);
    addon.flush(endpoint, 1);
    addon.send(endpoint, peer, peer, 12);
  });

  test('nothing is read into memory that was detached, and nothing sent from it (security finding 14)', async () => {
    const seen: number[] = [];
    const endpoint = addon.open('127.0.0.1', 0, false, (count) => void seen.push(count));
    assert.ok(typeof endpoint === 'object');
    const taken = structuredClone(endpoint.memory, { transfer: [endpoint.memory] });
    const before = Buffer.from(taken).toString('hex', 0, 64);
    addon.flush(endpoint, addon.layout.slots);
    await asClient(async ({ send, replies }) => {
      send(query(1, 'hot'), endpoint.port);
      await until(() => seen.length > 0);
      send(query(2, 'hot'), endpoint.port);
      assert.deepEqual(replies, []);
    });
    addon.close(endpoint);
    assert.deepEqual(seen, [-1], 'told once, and no packet');
    assert.equal(Buffer.from(taken).toString('hex', 0, 64), before);
  });

  test('a callback that detaches the memory has no reply sent', async () => {
    const seen: number[] = [];
    const endpoint = addon.open('127.0.0.1', 0, false, (count) => {
      seen.push(count);
      if (count < 0) return;
      new Int32Array(detached.memory, addon.layout.replyLengthsAt, 1)[0] = 12;
      structuredClone(detached.memory, { transfer: [detached.memory] });
    });
    assert.ok(typeof endpoint === 'object');
    const detached = endpoint;
    await asClient(async ({ send, replies }) => {
      send(query(1, 'hot'), endpoint.port);
      send(query(2, 'hot'), endpoint.port);
      await until(() => seen.length > 0);
      send(query(3, 'hot'), endpoint.port);
      await until(() => seen.at(-1) === -1);
      assert.deepEqual(replies, []);
    });
    addon.close(endpoint);
  });

  test('a thread that ends in any way releases its port', async () => {
    const ends: ((worker: Worker, send: (first: number) => void) => void)[] = [
      (worker) => void worker.terminate(),
      (_worker, send) => send(FATAL.exit),
      (_worker, send) => send(FATAL.throw),
      (worker, send) => {
        send(FATAL.loop);
        // While it hangs in the callback.
        setTimeout(() => void worker.terminate(), 20);
      },
    ];
    await asClient(async ({ send, replies }) => {
      for (const end of [...ends, ...ends]) {
        const worker = new Worker(new URL('../../../test/support/dns/udp/udp-worker.ts', import.meta.url), {
          workerData: { port: 0 },
        });
        worker.on('error', () => {});
        const [port] = (await once(worker, 'message')) as [number];
        const message = (first: number): Buffer => Buffer.alloc(20, first);
        const before = replies.length;
        for (let i = 0; i < 100; i++) send(message(0), port);
        await until(() => replies.length > before);
        // `once` would reject with the error of the thread.
        const exited = new Promise((resolve) => worker.on('exit', resolve));
        for (let i = 0; i < 100; i++) send(message(0), port);
        end(worker, (first) => send(message(first), port));
        await exited;
        const next = await listenUdpBatch({ ...setting(), port }, addon);
        await next.close(0);
      }
    });
  });

  test('threads share a port, and the end of one does not affect the others', async () => {
    const start = async (port: number): Promise<{ worker: Worker; port: number }> => {
      const worker = new Worker(new URL('../../../test/support/dns/udp/udp-worker.ts', import.meta.url), {
        workerData: { port },
      });
      const [at] = (await once(worker, 'message')) as [number];
      return { worker, port: at };
    };
    const first = await start(0);
    const others = [await start(first.port), await start(first.port)];
    await first.worker.terminate();
    await asClient(async ({ send, replies }) => {
      const message = echo(query(1, 'hot'));
      message[0] = 0;
      send(message, first.port);
      await until(() => replies.length === 1);
    });
    await Promise.all(others.map(({ worker }) => worker.terminate()));
    const next = await listenUdpBatch({ ...setting(), port: first.port }, addon);
    await next.close(0);
  });
});
