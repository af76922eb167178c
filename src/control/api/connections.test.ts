import assert from 'node:assert/strict';
import { once } from 'node:events';
import { type AddressInfo, connect, type Socket } from 'node:net';
import { after, before, describe, test } from 'node:test';
import { type EventReader, openEvents } from '../../../test/support/control/api/query-log/event-reader.ts';
import { openWorld, type World } from '../../../test/support/control/api/world.ts';
import { sqliteDatabase } from '../../../test/support/control/store/sqlite.ts';
import { LIMITS } from '../../core/limits.ts';
import type { Store } from '../store/store.ts';

const WHOLE = 'GET /api/v1/me HTTP/1.1\r\nHost: x\r\n\r\n';
const UNFINISHED = 'GET /api/v1/me HTTP/1.1\r\nHost: x\r\n';
/** Milliseconds from a connection to the end of its request's header, in the server as it is. */
const HEADERS_MS = 10_000;

interface Client {
  readonly socket: Socket;
  /** What the server has sent. */
  text(): string;
  readonly closed: Promise<unknown>;
}

function openClient(port: number): Client {
  const socket = connect(port, '127.0.0.1');
  let text = '';
  socket.setEncoding('utf8');
  socket.on('data', (chunk) => {
    text += chunk;
  });
  // A connection above the limit may be reset.
  socket.on('error', () => {});
  return { socket, text: () => text, closed: new Promise((resolve) => socket.once('close', resolve)) };
}

describe('connections of the API', () => {
  let world: World;
  let store: Store;
  let database: Awaited<ReturnType<typeof sqliteDatabase>>;
  let port: number;

  before(async () => {
    database = await sqliteDatabase();
    store = await database.open();
    world = await openWorld(store);
    await world.app.listen({ host: '127.0.0.1', port: 0 });
    port = (world.app.server.address() as AddressInfo).port;
  });
  after(async () => {
    await world.close();
    await store.close();
    await database.drop();
  });

  async function answerTo(client: Client, request: string): Promise<string> {
    client.socket.write(request);
    await once(client.socket, 'data');
    return client.text();
  }

  test('the 1,024th is served, the 1,025th is closed, and clients with slow headers are closed in their time', {
    timeout: 120_000,
  }, async () => {
    const { server } = world.app;
    const slow: Client[] = [];
    for (let i = 1; i < LIMITS.restConnections; i++) {
      const accepted = once(server, 'connection');
      const client = openClient(port);
      // Every second one sends nothing at all.
      if (i % 2 === 0) client.socket.write(UNFINISHED);
      slow.push(client);
      await accepted;
    }
    const last = openClient(port);
    assert.match(await answerTo(last, WHOLE), /^HTTP\/1\.1 401 /);

    const dropped = once(server, 'drop');
    const refused = openClient(port);
    refused.socket.write(WHOLE);
    await dropped;
    await refused.closed;
    assert.equal(refused.text(), '');

    assert.equal(server.headersTimeout, HEADERS_MS);
    // Their time is over at the next look for slow clients, which comes every 5 s.
    server.headersTimeout = 1;
    await Promise.all(slow.map(({ closed }) => closed));
    server.headersTimeout = HEADERS_MS;
    for (const client of slow) assert.match(client.text(), /^HTTP\/1\.1 408 /);

    const next = openClient(port);
    assert.match(await answerTo(next, WHOLE), /^HTTP\/1\.1 401 /);
    for (const { socket } of [last, next]) socket.destroy();
  });

  test('256 streams of the query log are open at once; another is 429 until one has ended', async () => {
    const { queryLogStreams: most, queryLogStreamsPerCustomer: each } = LIMITS;
    const readers: EventReader[] = [];
    try {
      for (let customer = await world.customer(); readers.length < most; ) {
        if (readers.length % each === 0) customer = await world.customer();
        readers.push(await openEvents(port, customer));
        assert.equal(readers.at(-1)!.status, 200, String(readers.length));
      }
      const late = await world.customer();
      const refused = await openEvents(port, late);
      assert.equal(refused.status, 429);
      assert.equal(refused.headers['retry-after'], '10');
      const body = await refused.text();
      assert.equal(
        body,
        '{"error":"Too many streams of the query log are open","code":"rate_limit_exceeded"}',
      );
      assert.equal((await late.get('/query_logs')).status, 200);
      readers.pop()!.close();
      for (;;) {
        const reader = await openEvents(port, late);
        if (reader.status === 200) {
          readers.push(reader);
          break;
        }
        await reader.text();
      }
    } finally {
      for (const reader of readers) reader.close();
    }
  });
});
