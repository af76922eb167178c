import assert from 'node:assert/strict';
import { once } from 'node:events';
import type { IncomingMessage } from 'node:http';
import { type AddressInfo, connect, type Socket } from 'node:net';
import { after, before, describe, test } from 'node:test';
import { type Customer, openWorld, type World } from '../../test/support/http/world.ts';
import { sqliteDatabase } from '../../test/support/store/sqlite.ts';
import { LIMITS } from '../base/limits.ts';
import type { Store } from '../store/store.ts';

const BULK = LIMITS.bulkBody;

const NO_BODY = '{"error":"Body must be a JSON object","code":"validation_error"}';

interface Client {
  readonly socket: Socket;
  /** What the server has sent. */
  text(): string;
  /** Resolves when the server has sent what matches. */
  until(pattern: RegExp): Promise<void>;
}

describe('bodies over the network', () => {
  let world: World;
  let store: Store;
  let database: Awaited<ReturnType<typeof sqliteDatabase>>;
  let port: number;
  const clients: Client[] = [];

  before(async () => {
    database = await sqliteDatabase();
    store = await database.open();
    world = await openWorld(store);
    await world.app.listen({ host: '127.0.0.1', port: 0 });
    port = (world.app.server.address() as AddressInfo).port;
  });
  after(async () => {
    for (const { socket } of clients) socket.destroy();
    await world.close();
    await store.close();
    await database.drop();
  });

  /** Sends the head of a bulk write, and waits until the server has it. */
  async function begin(
    token: string,
    length: number,
    more = '',
  ): Promise<Client & { request: IncomingMessage }> {
    const socket = connect(port, '127.0.0.1');
    let text = '';
    socket.setEncoding('utf8');
    socket.on('data', (chunk) => {
      text += chunk;
    });
    socket.on('error', () => {});
    const arrived = once(world.app.server, 'request');
    socket.write(
      `POST /api/v1/records/bulk HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${token}\r\n` +
        `Content-Type: application/json\r\nContent-Length: ${length}\r\n${more}\r\n`,
    );
    const [request] = (await arrived) as [IncomingMessage];
    const client = {
      socket,
      request,
      text: () => text,
      async until(pattern: RegExp) {
        while (!pattern.test(text)) {
          const [end] = await Promise.race([once(socket, 'data'), once(socket, 'close').then(() => [null])]);
          if (end === null) assert.match(text, pattern);
        }
      },
    };
    clients.push(client);
    return client;
  }

  /** After it the requests before have come as far as they do without more octets. */
  async function roundTrip(customer: Customer): Promise<void> {
    const answer = await fetch(`http://127.0.0.1:${port}/api/v1/me`, {
      headers: { authorization: `Bearer ${customer.token}` },
    });
    assert.equal(answer.status, 200);
    await answer.text();
  }

  test('a body waits unread until others of its person have left, and its 100 comes when it is read', async () => {
    const customer = await world.customer();
    const first = await begin(customer.token, BULK);
    const second = await begin(customer.token, BULK);
    await roundTrip(customer);
    const expecting = await begin(customer.token, 2, 'Expect: 100-continue\r\n');
    const unread = await begin(customer.token, BULK - 2);
    unread.socket.write(Buffer.alloc(BULK - 2, ' '));
    for (let i = 0; i < 5; i++) await roundTrip(customer);
    assert.equal(expecting.text(), '');
    assert.ok(
      unread.request.socket.bytesRead < 300_000,
      `${unread.request.socket.bytesRead} octets were read`,
    );
    first.socket.destroy();
    await expecting.until(/^HTTP\/1\.1 100 Continue\r\n\r\n/);
    expecting.socket.write('{}');
    await expecting.until(/HTTP\/1\.1 422 /);
    await unread.until(/^HTTP\/1\.1 400 .*Body is not valid JSON/s);
    second.socket.write('{}'.padEnd(BULK));
    await second.until(/^HTTP\/1\.1 422 /);
  });

  test('an empty body is no body, whatever its type is', async () => {
    const customer = await world.customer();
    const { id } = await customer.webhook();
    const send = async (method: string, path: string, type: string, payload?: string) =>
      customer.send(method, path, payload, { 'content-type': type });
    const form = 'application/x-www-form-urlencoded';
    const tested = await send('POST', `/webhooks/${id}/test`, form, '');
    assert.equal(tested.status, 200, tested.text);
    assert.equal((await send('POST', `/webhooks/${id}/test`, form, 'a')).status, 415);
    assert.equal((await send('POST', '/namespaces', form, '')).text, NO_BODY);
    assert.equal((await send('DELETE', `/webhooks/${id}`, 'text/plain')).status, 204);
  });

  test('an empty body in chunks is none, and neither is one whose Content-Type is empty or no type (they got 415)', async () => {
    const customer = await world.customer();
    const { id } = await customer.webhook();
    const answerOf = async (head: string, body = '') => {
      const socket = connect(port, '127.0.0.1');
      socket.write(
        `POST /api/v1/webhooks/${id}/test HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer ${customer.token}\r\n${head}\r\n\r\n${body}`,
      );
      let text = '';
      for await (const part of socket.setEncoding('utf8')) {
        text += part;
        if (/\r\n\r\n./.test(text)) break;
      }
      return text;
    };
    for (const type of ['Content-Type: text/plain\r\n', 'Content-Type: \r\n', 'Content-Type: garbage\r\n'])
      assert.match(await answerOf(`${type}Content-Length: 0`), /^HTTP\/1\.1 200 /, type);
    const chunked = 'Content-Type: text/plain\r\nTransfer-Encoding: chunked';
    assert.match(await answerOf(chunked, '0\r\n\r\n'), /^HTTP\/1\.1 200 /);
    for (const [head, body] of [
      [chunked, '1\r\na\r\n'],
      [`${chunked}\r\nExpect: 100-continue`, ''],
      ['Content-Type: text/plain\r\nContent-Length: 2', 'a'],
    ] as const)
      assert.match(await answerOf(head, body), /^HTTP\/1\.1 415 .*connection: close/is, head);
  });

  test('who waits for a 100 that does not come gets the refusal, and the connection ends', async () => {
    const refused = await begin('0'.repeat(64), 100, 'Expect: 100-continue\r\n');
    await refused.until(/^HTTP\/1\.1 401 .*connection: close/is);
  });

  test('of one person 8 MiB are read and 16 bodies wait, whatever organization and key they come by: finding 2 of the second security review', async () => {
    const customer = await world.customer();
    const tokens = [customer.token, (await customer.key()).token];
    for (let i = 0; i < 3; i++) {
      const session = await world.signIn(customer);
      const { id } = (await session.post('/organizations', { organization: { name: `o${i}` } })).json;
      assert.equal((await session.post('/auth/organization', { organization_id: id })).status, 200);
      const { token } = (await session.post('/api_keys', { api_key: { name: 'k' } })).json;
      tokens.push(session.token, token);
    }
    assert.ok(tokens.every((token) => /^\S{60}/.test(token)));
    const sent: Awaited<ReturnType<typeof begin>>[] = [];
    const most = LIMITS.bodyOctetsPerPerson / BULK + LIMITS.bodiesWaiting;
    for (let i = 0; i < most; i++) sent.push(await begin(tokens[i % tokens.length]!, BULK));
    await roundTrip(customer);
    const refused = await begin(tokens.at(-1)!, BULK);
    await refused.until(/^HTTP\/1\.1 429 .*retry-after: 10.*Too many bodies are being read/is);
    assert.ok(sent.every((one) => one.text() === ''));
    // Others are not concerned.
    const other = await begin((await world.customer()).token, 2);
    other.socket.write('{}');
    await other.until(/^HTTP\/1\.1 422 /);
    for (const { socket } of sent) socket.destroy();
  });

  test('four parallel loaders of one customer lose nothing', async () => {
    const customer = await world.customer();
    const { name } = await customer.namespace();
    const load = async (loader: number): Promise<void> => {
      for (let batch = 0; batch < 5; batch++) {
        const records = Array.from({ length: 100 }, (_, i) => ({
          key: `r${loader}-${batch}-${i}.x.${name}.v1`,
          data: Buffer.alloc(LIMITS.recordData).toString('base64'),
        }));
        const answer = await fetch(`http://127.0.0.1:${port}/api/v1/records/bulk`, {
          method: 'POST',
          headers: { authorization: `Bearer ${customer.token}`, 'content-type': 'application/json' },
          body: JSON.stringify({ records }),
        });
        assert.equal(answer.status, 200, await answer.text());
      }
    };
    await Promise.all([0, 1, 2, 3].map(load));
    assert.equal((await customer.get('/me')).json.records_count, 2000);
  });
});
