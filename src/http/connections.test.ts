import assert from 'node:assert/strict';
import { once } from 'node:events';
import { type AddressInfo, connect, type Socket } from 'node:net';
import { after, before, describe, test } from 'node:test';
import { type EventReader, openEvents } from '../../test/support/control/query-log/event-reader.ts';
import { openWorld, type World } from '../../test/support/http/world.ts';
import { sqliteDatabase } from '../../test/support/store/sqlite.ts';
import { LIMITS } from '../base/limits.ts';
import type { Store } from '../store/store.ts';

const WHOLE = 'GET /api/v1/me HTTP/1.1\r\nHost: x\r\n\r\n';
const UNFINISHED = 'GET /api/v1/me HTTP/1.1\r\nHost: x\r\n';
const UNFINISHED_BODY =
  'POST /api/v1/auth/verify HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 60\r\n\r\n{';
/** Milliseconds from a connection to the end of its request's header, in the server as it is. */
const HEADERS_MS = 10_000;

interface Client {
  readonly socket: Socket;
  /** What the server has sent. */
  text(): string;
  readonly closed: Promise<unknown>;
}

/** @param localAddress of this client: each is another network where its first three numbers differ */
function openClient(port: number, localAddress = '127.0.0.1'): Client {
  const socket = connect({ port, host: '127.0.0.1', localAddress });
  let text = '';
  socket.setEncoding('utf8');
  socket.on('data', (chunk) => {
    text += chunk;
  });
  // A connection that gives way is reset.
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

  /** Opens connections from one address, each with `request` sent. */
  async function openMany(count: number, localAddress: string, request = ''): Promise<Client[]> {
    const clients: Client[] = [];
    for (let i = 0; i < count; i++) {
      const accepted = once(world.app.server, 'connection');
      const client = openClient(port, localAddress);
      if (request !== '') client.socket.write(request);
      clients.push(client);
      await accepted;
    }
    return clients;
  }

  /** Waits until the server has closed what the test closed. */
  async function closeAll(clients: readonly Client[]): Promise<void> {
    const { server } = world.app;
    const count = (): Promise<number> =>
      new Promise((resolve) => server.getConnections((_, number) => resolve(number)));
    for (const { socket } of clients) socket.destroy();
    while ((await count()) > 0) await new Promise((resolve) => setImmediate(resolve));
  }

  test('the 2,048th is served and closes none; clients with slow headers are closed in their time', {
    timeout: 120_000,
  }, async () => {
    const { server } = world.app;
    const silent = await openMany(LIMITS.restConnections / 2 - 1, '127.0.0.1');
    const slow = await openMany(LIMITS.restConnections / 2, '127.0.0.1', UNFINISHED);
    const last = openClient(port);
    assert.match(await answerTo(last, WHOLE), /^HTTP\/1\.1 401 /);
    const all = [...silent, ...slow, last];
    assert.equal(all.filter(({ socket }) => socket.destroyed).length, 0);

    assert.equal(server.headersTimeout, HEADERS_MS);
    // Their time is over at the next look for slow clients, which comes every 5 s.
    server.headersTimeout = 1;
    await Promise.all([...silent, ...slow].map(({ closed }) => closed));
    server.headersTimeout = HEADERS_MS;
    for (const client of slow) assert.match(client.text(), /^HTTP\/1\.1 408 /);
    await closeAll(all);
  });

  test('16 requests of a connection wait at a time, and are answered in order and again; the 17th ends it', async () => {
    const client = openClient(port);
    const answers = (): number => client.text().match(/HTTP\/1\.1 401 /g)?.length ?? 0;
    for (const times of [1, 2, 3]) {
      client.socket.write(WHOLE.repeat(LIMITS.httpPipeline));
      while (answers() < times * LIMITS.httpPipeline) await once(client.socket, 'data');
    }
    assert.equal(client.socket.destroyed, false);
    const greedy = openClient(port);
    greedy.socket.write(WHOLE.repeat(LIMITS.httpPipeline + 1));
    await greedy.closed;
    // Those behind it are not worked on either.
    let begun = 0;
    const count = (): void => void begun++;
    world.app.server.on('request', count);
    const many = openClient(port);
    many.socket.write(WHOLE.repeat(1000));
    await many.closed;
    world.app.server.off('request', count);
    assert.ok(begun > LIMITS.httpPipeline, 'one read brought more than the limit');
    await closeAll([client, greedy, many]);
  });

  test('idle keep-alive connections of one address do not lock others out (finding 6 of the second security review)', {
    timeout: 120_000,
  }, async () => {
    const idle = await openMany(LIMITS.restConnections, '127.0.7.1');
    for (const client of idle) client.socket.write(WHOLE);
    await Promise.all(idle.map(({ socket }) => once(socket, 'data')));
    const others: Client[] = [];
    for (let i = 1; i <= 5; i++) {
      const other = openClient(port, `127.0.8.${i}`);
      others.push(other);
      assert.match(await answerTo(other, WHOLE), /^HTTP\/1\.1 401 /);
    }
    await Promise.all(idle.slice(0, 5).map(({ closed }) => closed));
    assert.equal(idle.filter(({ socket }) => socket.destroyed).length, 5, 'the oldest of the heaviest');
    // The one that has many gets no more than it had, and not from those who have few.
    const more = openClient(port, '127.0.7.1');
    assert.match(await answerTo(more, WHOLE), /^HTTP\/1\.1 401 /);
    assert.deepEqual(
      others.map(({ socket }) => socket.destroyed),
      [false, false, false, false, false],
    );
    await closeAll([...idle, ...others, more]);
  });

  test('a request that never ends is no work: connections of three addresses with unfinished bodies give way', {
    timeout: 120_000,
  }, async () => {
    const each = Math.ceil(LIMITS.restConnections / 3);
    const clients: Client[] = [];
    for (let i = 1; i <= 3; i++) clients.push(...(await openMany(each, `127.0.9.${i}`, UNFINISHED_BODY)));
    const newcomer = openClient(port, '127.0.8.1');
    assert.match(await answerTo(newcomer, WHOLE), /^HTTP\/1\.1 401 /);
    await closeAll([...clients, newcomer]);
  });

  test('a connection whose request is being answered gives no way', { timeout: 120_000 }, async () => {
    const { token } = await world.customer();
    const stream = openClient(port);
    const request = `GET /api/v1/query_logs/stream HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${token}\r\n\r\n`;
    assert.match(await answerTo(stream, request), /^HTTP\/1\.1 200 /);
    const idle = await openMany(LIMITS.restConnections + 20, '127.0.0.1');
    await Promise.all(idle.slice(0, 21).map(({ closed }) => closed));
    assert.equal(stream.socket.destroyed, false);
    await closeAll([stream, ...idle]);
  });

  test('behind a trusted proxy connections count for the client that asks (finding 6 of the second security review)', {
    timeout: 120_000,
  }, async () => {
    const proxied = await openWorld(store, { trustedProxies: ['127.0.0.0/8'] });
    await proxied.app.listen({ host: '127.0.0.1', port: 0 });
    const { port: behind } = proxied.app.server.address() as AddressInfo;
    const through = (client: string, request: string): Client => {
      const opened = openClient(behind);
      opened.socket.write(request.replace('Host: x', `Host: x\r\nX-Forwarded-For: ${client}`));
      return opened;
    };
    const begun = async (client: string, request: string): Promise<Client> => {
      const asked = once(proxied.app.server, 'request');
      const opened = through(client, request);
      await asked;
      return opened;
    };
    // A client with few unfinished requests, older than all others, and one with the rest of the places.
    const few = [await begun('198.51.100.1', UNFINISHED_BODY), await begun('198.51.100.1', UNFINISHED_BODY)];
    const many: Client[] = [];
    for (let i = 2; i < LIMITS.restConnections; i++) many.push(await begun('192.0.2.1', UNFINISHED_BODY));
    for (let i = 1; i <= 5; i++) {
      const other = through(`203.0.113.${i}`, WHOLE);
      await once(other.socket, 'data');
      assert.match(other.text(), /^HTTP\/1\.1 401 /);
      other.socket.destroy();
      await other.closed;
    }
    await many[0]!.closed;
    assert.deepEqual(
      few.map(({ socket }) => socket.destroyed),
      [false, false],
    );
    for (const { socket } of [...few, ...many]) socket.destroy();
    await proxied.close();
  });

  test('256 streams of the query log are open at once; of those who have most the oldest gives way to a person with two fewer', async () => {
    const readers: EventReader[] = [];
    try {
      for (let customer = await world.customer(); readers.length < LIMITS.queryLogStreams; ) {
        if (readers.length % 2 === 0) customer = await world.customer();
        readers.push(await openEvents(port, customer));
        assert.equal(readers.at(-1)!.status, 200, String(readers.length));
      }
      const late = await world.customer();
      readers.push(await openEvents(port, late));
      assert.equal(readers.at(-1)!.status, 200);
      await readers[0]!.ended();
      assert.equal(readers[0]!.isWhole(), false);
      const refused = await openEvents(port, late);
      assert.equal(refused.status, 429, 'the others have two, and this one has one');
      assert.equal(refused.headers['retry-after'], '10');
      const body = await refused.text();
      assert.equal(
        body,
        '{"error":"Too many streams of the query log are open","code":"rate_limit_exceeded"}',
      );
      assert.equal((await late.get('/query_logs')).status, 200);
    } finally {
      for (const reader of readers) reader.close();
    }
  });
});
