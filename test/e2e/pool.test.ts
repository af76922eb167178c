import assert from 'node:assert/strict';
import { createSocket, type Socket } from 'node:dgram';
import { once } from 'node:events';
import { describe, it } from 'node:test';
import { MessageChannel } from 'node:worker_threads';
import { type PoolOptions, RefusedError, startPool, type WorkerPool } from '../../src/process/node/pool.ts';
import { ListenError } from '../../src/process/node/settings.ts';
import { REFUSED, STEER } from '../support/fragile-worker.ts';
import { eventually } from './client.ts';

const ENTRY = new URL('../support/fragile-worker.ts', import.meta.url);

interface World {
  readonly steer: Int32Array;
  readonly died: number[];
  readonly failed: unknown[];
  readonly options: PoolOptions;
  /** Threads that were started and have not ended. */
  threads(): number;
}

function world(workers = 2, entry = ENTRY): World {
  const stats = new SharedArrayBuffer(16);
  const died: number[] = [];
  const failed: unknown[] = [];
  let open = 0;
  const settings = {
    host: '127.0.0.1',
    ports: { dns: 0, dot: 0, doh: 0 },
    stats,
    ticketKeys: octets(1),
    keys: [],
    cookies: cookiesOf(1),
    // The stand-in reads only these settings.
  } as unknown as PoolOptions['settings'];
  return {
    steer: new Int32Array(stats),
    died,
    failed,
    threads: () => open,
    options: {
      entry,
      settings,
      connect() {
        // The port closes when its thread ends.
        const { port1, port2 } = new MessageChannel();
        open++;
        port2.on('close', () => open--);
        return port1;
      },
      workers,
      events: {
        died: (worker) => died.push(worker),
        startFailed: (_worker, error) => failed.push(error),
        fault: () => {},
        xdp: () => {},
        counted: () => {},
      },
    },
  };
}

const octets = (value: number): Uint8Array => new Uint8Array(48).fill(value);
const cookiesOf = (period: number) => [{ period, secret: new Uint8Array(16) }];

async function withPool(at: World, scenario: (pool: WorkerPool) => Promise<void>): Promise<void> {
  const pool = await startPool(at.options);
  try {
    await scenario(pool);
  } finally {
    await pool.stop();
  }
  assert.equal(pool.alive(), 0);
  await eventually(async () => at.threads() === 0);
}

describe('the pool of DNS workers', () => {
  it('starts another worker when one dies, and the port is answered all the while', async () => {
    const at = world();
    await withPool(at, async (pool) => {
      const { dns } = pool.ports;
      assert.equal(pool.alive(), 2);
      await die(dns);
      await eventually(async () => at.died.length === 1);
      assert.equal(pool.alive(), 1);
      for (let i = 0; i < 10; i++) assert.ok(await echo(dns), 'the other worker answers');
      await eventually(async () => pool.alive() === 2);
      assert.equal(pool.ports.dns, dns, 'the port stays');
      await answersOfAll(dns, ['0 1', '1 1']);
      assert.equal(at.died.length, 1);
    });
    assert.equal(at.died.length, 1, 'an orderly end is no death');
  });

  it('asks the worker that has least to answer, and another one when it refuses or ends', async () => {
    const at = world();
    await withPool(at, async (pool) => {
      const ask = async (text: string): Promise<number | null> => {
        const message = Buffer.from(text);
        return (await pool.ask({ asked: { kind: 'wire', message }, address: '' }))?.body[0] ?? null;
      };
      assert.equal(await ask('hello'), 0);
      const first = ask('wait 0');
      assert.equal(await ask('hello'), 1, 'the first has a question');
      assert.deepEqual([await ask('refuse 1'), await ask('refuse')], [0, null]);
      const other = ask('wait 1');
      assert.equal(await ask('die 0'), 1, 'a question whose worker ended is asked again');
      assert.equal(await first, 1, 'also one that waited');
      // It is asked twice at most, so it ends no more than two workers.
      assert.equal(await ask('die'), null);
      assert.equal(await other, null);
      await eventually(async () => at.died.length >= 2 && pool.alive() === 2);
      const last = ask('wait');
      await pool.stop();
      assert.equal(await last, null);
      assert.equal(await ask('hello'), null);
    });
  });

  it('says so when a worker cannot start at all', async () => {
    const missing = new URL('../support/no-such-worker.ts', import.meta.url);
    const at = world(2, missing);
    await assert.rejects(
      startPool(at.options),
      (error) => error instanceof ListenError && error.code === 'EXIT',
    );
    await eventually(async () => at.threads() === 0);
  });

  it('replaces a worker that dies right after it began to listen', async () => {
    const at = world(1);
    at.steer[STEER.endAfterListening] = 1;
    await withPool(at, async (pool) => {
      await eventually(async () => at.died.length === 1 && pool.alive() === 1);
      assert.equal(await echo(pool.ports.dns), '0 1');
    });
  });

  it('reports a restart that fails, and tries again', async () => {
    const at = world(1);
    await withPool(at, async (pool) => {
      at.steer[STEER.endBeforeListening] = 1;
      await die(pool.ports.dns);
      await eventually(async () => at.failed.length === 1 && pool.alive() === 1);
      assert.equal(await echo(pool.ports.dns), '0 1');
    });
  });
});

describe('a change of settings', () => {
  it('reaches every worker, and one that restarts later', async () => {
    const at = world();
    await withPool(at, async (pool) => {
      await pool.change({ ticketKeys: octets(2) });
      await pool.change({ cookies: cookiesOf(3) });
      const reached = async (): Promise<void> => {
        await answersOfAll(pool.ports.dns, ['0 2', '1 2']);
        await answersOfAll(pool.ports.dns, ['0 3', '1 3'], 'cookies');
      };
      await reached();
      await die(pool.ports.dns);
      await eventually(async () => at.died.length === 1 && pool.alive() === 2);
      await reached();
    });
  });

  it('reaches a worker that was starting while the settings changed (finding R8)', async () => {
    const at = world(1);
    await withPool(at, async (pool) => {
      hold(at);
      await die(pool.ports.dns);
      await eventually(async () => at.steer[STEER.starts] === 2);
      // Each comes by itself: ticket keys at the end of a half day, cookies at that of a day.
      await pool.change({ ticketKeys: octets(2) });
      await pool.change({ cookies: cookiesOf(3) });
      release(at);
      await eventually(async () => (await echo(pool.ports.dns)) === '0 2');
      assert.equal(await echo(pool.ports.dns, 'cookies'), '0 3');
      assert.equal(at.died.length, 1, 'it is told, not replaced');
    });
  });

  it('is refused whole when one worker refuses: no worker dies, none keeps it, no successor starts with it', async () => {
    const at = world();
    await withPool(at, async (pool) => {
      await pool.change({ ticketKeys: octets(2) });
      await assert.rejects(pool.change({ ticketKeys: octets(REFUSED) }), RefusedError);
      assert.equal(pool.alive(), 2);
      await answersOfAll(pool.ports.dns, ['0 2', '1 2']);
      await die(pool.ports.dns);
      await eventually(async () => at.died.length === 1 && pool.alive() === 2);
      await answersOfAll(pool.ports.dns, ['0 2', '1 2']);
      await pool.change({ ticketKeys: octets(3) });
      await answersOfAll(pool.ports.dns, ['0 3', '1 3']);
      assert.equal(at.died.length, 1);
    });
  });

  it('that the main thread finds bad is not sent to any worker', async () => {
    const at = world(1);
    await withPool(at, async (pool) => {
      await assert.rejects(
        pool.change({ tls: { cert: 'no certificate', key: 'no key' }, ticketKeys: octets(2) }),
      );
      assert.equal(await echo(pool.ports.dns), '0 1');
    });
  });

  it('comes into use in the order of the calls', async () => {
    const at = world();
    await withPool(at, async (pool) => {
      await Promise.all([2, 3, 4, 5].map((value) => pool.change({ ticketKeys: octets(value) })));
      await answersOfAll(pool.ports.dns, ['0 5', '1 5']);
    });
  });

  it('ends when its worker ends before it answers', async () => {
    const at = world(1);
    await withPool(at, async (pool) => {
      const changes = [2, 3].map((value) => pool.change({ ticketKeys: octets(value) }));
      await die(pool.ports.dns);
      await Promise.all(changes);
      await eventually(async () => (await echo(pool.ports.dns)) === '0 3');
    });
  });
});

describe('a stop of the pool', () => {
  it('ends a worker that is starting (finding R9)', async () => {
    const at = world(1);
    const pool = await startPool(at.options);
    hold(at);
    await die(pool.ports.dns);
    await eventually(async () => at.steer[STEER.starts] === 2);
    await pool.stop();
    release(at);
    await eventually(async () => at.threads() === 0);
    assert.equal(pool.alive(), 0);
    assert.equal(at.steer[STEER.starts], 2, 'no further start');
  });

  it('ends while a worker waits for its restart, and no restart follows', async () => {
    const at = world(1);
    const pool = await startPool(at.options);
    await die(pool.ports.dns);
    await eventually(async () => at.died.length === 1);
    await pool.stop();
    await eventually(async () => at.threads() === 0);
    // A change after the stop has no effect: it neither waits nor fails.
    await pool.change({ ticketKeys: octets(2) });
    assert.equal(at.steer[STEER.starts], 1);
  });

  it('in the middle of a change and a restart leaves no thread', async () => {
    const at = world();
    const pool = await startPool(at.options);
    hold(at);
    await die(pool.ports.dns);
    await eventually(async () => at.steer[STEER.starts] === 3);
    const change = pool.change({ ticketKeys: octets(2) });
    await pool.stop();
    await change;
    release(at);
    await eventually(async () => at.threads() === 0);
  });
});

function hold({ steer }: World): void {
  Atomics.store(steer, STEER.holdStart, 1);
}

function release({ steer }: World): void {
  Atomics.store(steer, STEER.holdStart, 0);
  Atomics.notify(steer, STEER.holdStart);
}

async function send(port: number, text: string): Promise<Socket> {
  const socket = createSocket('udp4');
  socket.connect(port, '127.0.0.1');
  await once(socket, 'connect');
  socket.on('error', () => {});
  await new Promise((resolve) => socket.send(text, resolve));
  return socket;
}

async function die(port: number): Promise<void> {
  (await send(port, 'die')).close();
}

/** The answer of one worker, or null. Each call uses a new socket, so another worker may get it. */
async function echo(port: number, text = 'hello'): Promise<string | null> {
  const socket = await send(port, text);
  try {
    const reply = await Promise.race([
      // A port without a listener causes a socket error.
      (once(socket, 'message') as Promise<[Buffer]>).catch(() => null),
      new Promise<null>((resolve) => setTimeout(() => resolve(null), 1000).unref()),
    ]);
    return reply === null ? null : reply[0].toString();
  } finally {
    socket.close();
  }
}

/** Asks until every worker has given the expected answer. Any other answer fails. */
async function answersOfAll(port: number, expected: readonly string[], text?: string): Promise<void> {
  const seen = new Set<string>();
  await eventually(async () => {
    const answer = await echo(port, text);
    if (answer !== null) seen.add(answer);
    return seen.size >= expected.length;
  });
  assert.deepEqual([...seen].sort(), expected);
}
