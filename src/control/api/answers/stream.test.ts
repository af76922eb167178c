import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import { type AddressInfo, connect, type Socket } from 'node:net';
import { after, before, describe, test } from 'node:test';
import { createManualTimers } from '../../../../test/support/lifecycle/manual-timers.ts';
import { jsonArrayStream } from './stream.ts';

const IDLE = 10_000;
const COUNT = 1000;

describe('a streamed array', () => {
  const timers = createManualTimers();
  let made = 0;
  let ended = 0;
  const server = createServer((request, response) => {
    const count = Number(request.url?.slice(1));
    async function* batches(): AsyncGenerator<readonly object[]> {
      for (let i = 0; i < count; i++) {
        made++;
        yield [{ i, text: 'x'.repeat(100_000) }];
      }
    }
    const stream = jsonArrayStream(batches(), response, { idleMs: IDLE, timers, onEnd: () => ended++ });
    stream.pipe(response);
  });
  let port = 0;
  before(async () => {
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    port = (server.address() as AddressInfo).port;
  });
  after(() => server.close());

  const ask = (count: number): Socket => {
    const socket = connect(port, '127.0.0.1');
    socket.write(`GET /${count} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n`);
    return socket;
  };

  test('is one JSON array, of no, one and many items', async () => {
    for (const count of [0, 1, 5]) {
      const answer = await fetch(`http://127.0.0.1:${port}/${count}`);
      const items = (await answer.json()) as { i: number }[];
      assert.deepEqual(
        items.map(({ i }) => i),
        Array.from({ length: count }, (_, i) => i),
      );
    }
  });

  test('is not made faster than it is read, and is cut off after ten seconds without progress', async () => {
    made = 0;
    const before = ended;
    const socket = ask(COUNT);
    let received = 0;
    const closed = new Promise<void>((resolve) => socket.once('close', () => resolve()));
    socket.on('error', () => {});
    socket.pause();
    // It stands still once the buffers between are full; the time moves on, and nothing is taken.
    while (ended === before) await timers.advance(IDLE);
    assert.ok(made < COUNT / 2, `${made} items were made for a reader that reads nothing`);
    socket.on('data', (chunk) => {
      received += chunk.length;
    });
    socket.resume();
    await closed;
    assert.ok(received < COUNT * 100_000, 'the answer was sent whole');
    assert.equal(ended, before + 1);
    assert.deepEqual(timers.pending(), []);
  });
});
