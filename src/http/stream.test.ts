import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer, get, type IncomingMessage } from 'node:http';
import { type AddressInfo, connect, type Socket } from 'node:net';
import { after, before, describe, test } from 'node:test';
import { createManualTimers } from '../../test/support/base/lifecycle/manual-timers.ts';
import { jsonArrayStream, jsonLinesStream, oneTickEach } from './streams.ts';

const IDLE = 10_000;
const TOTAL = 60_000;
const COUNT = 1000;

/** Batches that a test hands out one at a time. */
function handedOut(): { readonly batches: AsyncIterable<readonly object[]>; give(): void; end(): void } {
  const { readable, writable } = new TransformStream<readonly object[]>();
  const writer = writable.getWriter();
  return {
    batches: readable,
    give: () => void writer.write([{ text: 'x' }]).catch(() => {}),
    end: () => void writer.close().catch(() => {}),
  };
}

describe('a streamed array', () => {
  const timers = createManualTimers();
  let made = 0;
  let ended = 0;
  let source = handedOut();
  let isValid = true;
  const server = createServer((request, response) => {
    const options = {
      idleMs: IDLE,
      totalMs: TOTAL,
      timers,
      tick: oneTickEach(),
      mayGoOn: async () => isValid,
      reader: { taken() {}, waits() {}, leave: () => ended++ },
    };
    if (request.url?.startsWith('/lines/') === true) {
      response.setHeader('trailer', 'X-Record-Count');
      const batches = request.url
        .slice('/lines/'.length)
        .split(',')
        .map((n) => Array.from({ length: Number(n) }, () => ({})));
      jsonLinesStream(batches, response, { ...options, lines: 'records' }).pipe(response);
      return;
    }
    if (request.url === '/lines-handed-out') {
      response.setHeader('trailer', 'X-Record-Count');
      jsonLinesStream(source.batches, response, { ...options, lines: 'records' }).pipe(response);
      return;
    }
    if (request.url === '/handed-out') {
      jsonArrayStream(source.batches, response, options).pipe(response);
      return;
    }
    const count = Number(request.url?.slice(1));
    async function* batches(): AsyncGenerator<readonly object[]> {
      for (let i = 0; i < count; i++) {
        made++;
        yield [{ i, text: 'x'.repeat(100_000) }];
      }
    }
    jsonArrayStream(batches(), response, options).pipe(response);
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

  test('is cut off before the next batch once its credential has ended', async () => {
    source = handedOut();
    source.give();
    const answer = await fetch(`http://127.0.0.1:${port}/handed-out`);
    const reader = answer.body!.getReader();
    assert.equal((await reader.read()).done, false);
    isValid = false;
    try {
      source.give();
      await assert.rejects(async () => {
        while (!(await reader.read()).done);
      });
    } finally {
      isValid = true;
    }
  });

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

  /** The text, the trailers, and whether the answer ended with its last chunk. */
  const lines = (path: string, whileOpen: () => Promise<void> | void = () => {}) =>
    new Promise<{ text: string; trailers: NodeJS.Dict<string>; complete: boolean }>((resolve, reject) => {
      get(`http://127.0.0.1:${port}${path}`, { agent: false }, (answer) => {
        let text = '';
        answer.setEncoding('utf8').on('data', (chunk: string) => {
          text += chunk;
        });
        answer.on('error', () => {});
        answer.once('close', () => resolve({ text, trailers: answer.trailers, complete: answer.complete }));
        void whileOpen();
      }).on('error', reject);
    });

  test('of lines tells their number in the trailer', async () => {
    for (const [batches, count] of [
      ['0', 0],
      ['1', 1],
      ['3,0,2', 5],
    ] as const) {
      const { text, trailers, complete } = await lines(`/lines/${batches}`);
      assert.equal(text, '{}\n'.repeat(count));
      assert.equal(trailers['x-record-count'], String(count));
      assert.ok(complete);
    }
  });

  test('of lines that is cut off has no trailer and no last chunk', async () => {
    source = handedOut();
    source.give();
    const { trailers, complete } = await lines('/lines-handed-out', () => timers.advance(TOTAL));
    assert.deepEqual(trailers, {});
    assert.equal(complete, false);
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

  for (const { title, spare } of [
    { title: 'a reader that takes it slowly is cut off when the time for all of it is over', spare: 0 },
    { title: 'a reader that takes it slowly has it whole a millisecond before', spare: 1 },
  ]) {
    test(title, async () => {
      source = handedOut();
      const before = ended;
      const answer = await new Promise<IncomingMessage>((resolve) => {
        get(`http://127.0.0.1:${port}/handed-out`, { agent: false }, resolve);
        source.give();
      });
      const over = new Promise<boolean>((resolve) => answer.once('close', () => resolve(answer.complete)));
      answer.on('error', () => {});
      let text = '';
      answer.setEncoding('utf8').on('data', (chunk: string) => {
        text += chunk;
      });
      const taken = TOTAL / IDLE;
      for (let batch = 1; batch <= taken; batch++) {
        await once(answer, 'data');
        // Each batch comes a millisecond before the reader counts as idle.
        await timers.advance(IDLE - 1);
        assert.equal(ended, before);
        source.give();
      }
      await once(answer, 'data');
      await timers.advance(taken - spare);
      source.end();
      assert.equal(await over, spare > 0);
      assert.equal(ended, before + 1);
      if (spare > 0) assert.equal((JSON.parse(text) as unknown[]).length, taken + 1);
      assert.deepEqual(timers.pending(), []);
    });
  }
});
