import assert from 'node:assert/strict';
import { createSocket, type Socket } from 'node:dgram';
import { once } from 'node:events';
import { describe, it } from 'node:test';
import { MessageChannel } from 'node:worker_threads';
import { ListenError, type PoolOptions, startPool } from '../../src/edge/node/pool.ts';
import { eventually } from './client.ts';

const ENTRY = new URL('../support/fragile-worker.ts', import.meta.url);

function options(died: number[], entry = ENTRY): PoolOptions {
  // The stand-in reads no more of its settings than this.
  const settings = { host: '127.0.0.1', ports: { dns: 0, dot: 0, doh: 0 } } as PoolOptions['settings'];
  return {
    entry,
    settings,
    connect: () => new MessageChannel().port1,
    workers: 2,
    events: { died: (worker) => died.push(worker), fault: () => {} },
  };
}

describe('the pool of DNS workers', () => {
  it('starts a worker anew when one dies, and the port is answered all the while', async () => {
    const died: number[] = [];
    const pool = await startPool(options(died));
    try {
      const { dns } = pool.ports;
      assert.equal(pool.alive(), 2);
      await send(dns, 'die');
      await eventually(async () => died.length === 1);
      assert.equal(pool.alive(), 1);
      for (let i = 0; i < 10; i++) assert.ok(await echo(dns), 'the other worker answers');
      await eventually(async () => pool.alive() === 2);
      assert.equal(pool.ports.dns, dns, 'the port stays');
      const seen = new Set<string | null>();
      await eventually(async () => seen.add(await echo(dns)).size === 2);
      assert.equal(died.length, 1);
    } finally {
      await pool.stop();
    }
    assert.equal(pool.alive(), 0);
    assert.equal(died.length, 1, 'an orderly end is no death');
  });

  it('says so when a worker cannot start at all', async () => {
    const missing = new URL('../support/no-such-worker.ts', import.meta.url);
    await assert.rejects(startPool(options([], missing)), ListenError);
  });
});

async function send(port: number, text: string): Promise<Socket> {
  const socket = createSocket('udp4');
  socket.connect(port, '127.0.0.1');
  await once(socket, 'connect');
  socket.on('error', () => {});
  await new Promise((resolve) => socket.send(text, resolve));
  if (text === 'die') socket.close();
  return socket;
}

/** The number of the worker that answered, or null. Each call is another client, so another worker may get it. */
async function echo(port: number): Promise<string | null> {
  const socket = await send(port, 'hello');
  try {
    const reply = await Promise.race([
      once(socket, 'message') as Promise<[Buffer]>,
      new Promise<null>((resolve) => setTimeout(() => resolve(null), 1000).unref()),
    ]);
    return reply === null ? null : reply[0].toString();
  } finally {
    socket.close();
  }
}
