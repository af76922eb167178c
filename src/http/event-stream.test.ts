import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer, get, type IncomingMessage, type ServerResponse } from 'node:http';
import { type AddressInfo, connect, type Socket } from 'node:net';
import { afterEach, describe, test } from 'node:test';
import { LIMITS } from '../base/limits.ts';
import { pulseOf } from '../control/live/streams.ts';
import { RowStream } from '../control/query-log/row-stream.ts';
import type { NewRow } from '../store/query-log/new-rows.ts';
import type { Actor } from './actor.ts';
import { type EventStream, eventStream } from './streams.ts';

const ACTOR: Actor = {
  customerId: 'c',
  personId: 'c',
  userId: null,
  sessionId: null,
  role: null,
  tier: 'pro',
  via: 'api_key',
  apiKey: null,
  requestId: null,
  operations: new Set(['read']),
  namespaces: null,
};

/** Octets of the longest row as an event. */
const ROW = 600;
/** Octets that wait in the stream before the server's response and socket hold their own. */
const BUFFER = 65_536;
/** Octets in the server's response: its bound in Node, one row, and the marks of chunks. */
const RESPONSE = 65_536 + 2 * ROW;

function rows(from: number, count: number): NewRow[] {
  return Array.from({ length: count }, (_, i) => ({
    id: from + i,
    series_id: 1,
    at: 1_767_225_600_000,
    resource: 'r'.repeat(LIMITS.label),
    version: 'v'.repeat(LIMITS.label),
    operation: 'get',
    qtype: 16,
    rcode: 0,
    transport: 'udp',
    node: 'n',
    duration_ms: 0,
    customer_id: 'c',
    namespace: 'n'.repeat(LIMITS.namespaceNameMax),
    status: 'hit',
  }));
}

interface Open {
  readonly events: EventStream;
  readonly rowStream: RowStream;
  readonly tick: () => void;
  readonly response: ServerResponse;
  readonly ended: Promise<void>;
}

/** A real connection to a stream. The client reads nothing until it is resumed. */
async function openStream(): Promise<Open & { readonly client: Socket }> {
  const { promise, resolve } = Promise.withResolvers<Open>();
  const server = createServer((_request, response) => {
    const finished = Promise.withResolvers<void>();
    const events = eventStream(response, finished.resolve);
    events.body.pipe(response);
    const rowStream = new RowStream(ACTOR, { namespace: null, status: null }, events);
    const tick = pulseOf(events, (isHeartbeat) => rowStream.tick(isHeartbeat));
    resolve({ events, rowStream, tick, response, ended: finished.promise });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const client = connect((server.address() as AddressInfo).port, '127.0.0.1');
  client.on('error', () => {});
  client.pause();
  client.write('GET / HTTP/1.1\r\nHost: x\r\n\r\n');
  opened.push(() => {
    client.destroy();
    server.closeAllConnections();
    server.close();
  });
  return { ...(await promise), client };
}

const opened: (() => void)[] = [];

/** Lets what was written reach the socket. */
const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

/** Fills the stream, second by second, until the client takes nothing more. @returns rows that were offered */
async function fill({ rowStream, tick, events }: Open): Promise<number> {
  let offered = 0;
  while (events.isReady()) {
    rowStream.offer(rows(offered + 1, LIMITS.queryLogStreamRows));
    offered += LIMITS.queryLogStreamRows;
    await turn();
    if (events.isReady()) tick();
  }
  return offered;
}

describe('the events of a client', () => {
  afterEach(() => {
    for (const close of opened.splice(0)) close();
  });

  test('a client that reads nothing: memory stays within twice 64 KB, whatever is offered', async () => {
    const stream = await openStream();
    const { events, rowStream, tick, response } = stream;
    let offered = await fill(stream);
    const held = (): number => events.body.readableLength;
    const inResponse = (): number => response.writableLength;
    assert.ok(held() >= BUFFER && held() < BUFFER + ROW, String(held()));
    for (let second = 1; second < LIMITS.listingIdleMs / 1000; second++) {
      tick();
      rowStream.offer(rows(offered + 1, 5000));
      offered += 5000;
      await turn();
      assert.ok(held() < BUFFER + ROW, String(held()));
      assert.ok(inResponse() < RESPONSE, String(inResponse()));
    }
    assert.equal(response.destroyed, false);
  });

  test('what it could not get is counted: rows sent and the count together are the rows offered', async () => {
    const stream = await openStream();
    const { tick, events, client } = stream;
    const offered = await fill(stream);
    let text = '';
    client.setEncoding('utf8').on('data', (chunk) => {
      text += chunk;
    });
    client.resume();
    while (!events.isReady()) await once(client, 'data');
    tick();
    events.end();
    await stream.ended;
    while (!text.endsWith('\r\n0\r\n\r\n')) await once(client, 'data');
    const ids = [...text.matchAll(/^id: ([0-9]+)$/gm)].map(([, id]) => Number(id));
    const [, count] = /^event: skipped\r?\n?.*\n?data: \{"count":([0-9]+)\}$/m.exec(text) ?? [];
    assert.ok(Number(count) > 0, text.slice(-300));
    assert.equal(ids.length + Number(count), offered);
    assert.deepEqual(
      ids,
      ids.toSorted((a, b) => a - b),
    );
    assert.equal(text.match(/event: skipped/g)?.length, 1);
  });

  test('ten seconds without reading cut it off; nine do not, and reading begins them again', async () => {
    const stream = await openStream();
    const { tick, events, response, client } = stream;
    const most = LIMITS.listingIdleMs / 1000;
    await fill(stream);
    for (let second = 1; second < most; second++) tick();
    assert.equal(response.destroyed, false);
    client.resume();
    while (!events.isReady()) await once(client, 'data');
    client.pause();
    tick();
    await fill(stream);
    for (let second = 1; second < most; second++) tick();
    assert.equal(response.destroyed, false);
    tick();
    assert.equal(response.destroyed, true);
    await stream.ended;
  });

  test('an answer that has ended, and whose end is not read, is cut off like a stream', async () => {
    const stream = await openStream();
    const { tick, rowStream, events, response, client } = stream;
    await fill(stream);
    client.resume();
    while (!events.isReady()) await once(client, 'data');
    client.pause();
    // The buffer has room again, so the answer ends in order.
    rowStream.offer(rows(1, LIMITS.queryLogStreamRows));
    events.end();
    assert.equal(events.isReady(), false);
    for (let second = 1; second < LIMITS.listingIdleMs / 1000; second++) tick();
    assert.equal(response.destroyed, false);
    tick();
    assert.equal(response.destroyed, true);
    await stream.ended;
  });

  test('rows that come after the end are not sent, and the answer ends in order', async () => {
    const { promise, resolve } = Promise.withResolvers<RowStream>();
    const faults: unknown[] = [];
    const server = createServer((_request, response) => {
      const events = eventStream(response, () => {});
      events.body.on('error', (error) => faults.push(error)).pipe(response);
      const rowStream = new RowStream(ACTOR, { namespace: null, status: null }, events);
      rowStream.offer(rows(1, 1));
      events.end();
      events.end();
      rowStream.offer(rows(2, 3));
      rowStream.tellGap();
      rowStream.tick(true);
      resolve(rowStream);
    });
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    opened.push(() => void server.close());
    const [answer] = (await once(
      get({ host: '127.0.0.1', port: (server.address() as AddressInfo).port, agent: false }),
      'response',
    )) as [IncomingMessage];
    await promise;
    let text = '';
    for await (const chunk of answer) text += chunk;
    assert.deepEqual(faults, []);
    assert.match(text, /^id: 1\ndata: [^\n]*\n\n$/);
    assert.equal(answer.complete, true);
  });
});
