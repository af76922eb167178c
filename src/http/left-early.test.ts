import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer, type ServerResponse } from 'node:http';
import { type AddressInfo, connect, type Socket } from 'node:net';
import { afterEach, describe, test } from 'node:test';
import { createManualTimers } from '../../test/support/base/lifecycle/manual-timers.ts';
import { presentEnd } from '../../test/support/control/changes/asking.ts';
import { listen } from '../../test/support/control/query-log/event-reader.ts';
import { type Gate, makeGate } from '../../test/support/dns/fakes.ts';
import { apiScenarios } from '../../test/support/http/engines.ts';
import { openWorld } from '../../test/support/http/world.ts';
import { LIMITS } from '../base/limits.ts';
import type { Store } from '../store/store.ts';
import { jsonArrayStream, oneTickEach, onResponseEnd } from './streams.ts';

interface HeldReads {
  readonly wrap: (store: Store) => Store;
  readonly hold: () => void;
  readonly release: () => void;
  /** Reads that wait. */
  readonly waiting: () => number;
}

/** A store whose reads wait, once they are held, until they are released. */
function heldReads(): HeldReads {
  let gate: Gate | null = null;
  let waiting = 0;
  return {
    wrap(store) {
      const { read } = store;
      return {
        ...store,
        read: {
          ...read,
          async execute<R>(sql: string, values: readonly unknown[]) {
            waiting++;
            await gate?.opened;
            waiting--;
            return read.execute<R>(sql, values);
          },
        },
      };
    },
    hold() {
      gate = makeGate();
    },
    release() {
      gate?.open();
      gate = null;
    },
    waiting: () => waiting,
  };
}

/** What a person may have at once, and how many. `:id` and `:since`: of a namespace, and the end of the changes. */
const PLACES = [
  ['listings', '/records', LIMITS.listingsPerCustomer],
  ['pages', '/records?limit=500', LIMITS.pagesPerCustomer],
  ['exports', '/namespaces/:id/export', LIMITS.listingsPerCustomer],
  ['exports of the audit log', '/audit/export', 1],
  ['requests that wait for changes', '/changes?since=:since&wait=50', LIMITS.changeWaitsPerCustomer],
  ['streams of changes', '/changes/stream', LIMITS.changeStreamsPerCustomer],
  ['streams of the query log', '/query_logs/stream', LIMITS.queryLogStreamsPerCustomer],
] as const;

apiScenarios(
  'clients that leave before their answer has begun',
  Object.fromEntries(
    PLACES.map(([name, path, each]) => [
      `keep no place of ${name}, however many they are`,
      async (store: Store) => {
        const reads = heldReads();
        // A wait whose client has gone does not end by its time.
        const timers = createManualTimers();
        const world = await openWorld(store, { wrap: reads.wrap, timers });
        const port = await listen(world);
        const owner = await world.customer();
        const { id, name: namespace } = await owner.namespace();
        // A page of less than `LIMITS.listingPage` needs no place.
        const data = Buffer.alloc(LIMITS.recordData).toString('base64');
        const keys = Array.from({ length: 40 }, (_, i) => `k${i}.r.${namespace}.v1`);
        const bulk = await owner.post('/records/bulk', { records: keys.map((key) => ({ key, data })) });
        assert.equal(bulk.status, 200, bulk.text);
        const asked = path.replace(':id', id).replace(':since', await presentEnd(owner));

        const ends: Socket[] = [];
        world.app.server.on('connection', (socket) => ends.push(socket));
        reads.hold();
        const clients = Array.from({ length: each + 1 }, () => connect(port, '127.0.0.1'));
        for (const client of clients) {
          client.write(
            `GET /api/v1${asked} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${owner.token}\r\n\r\n`,
          );
        }
        while (reads.waiting() < clients.length) await new Promise(setImmediate);
        const gone = ends.map((socket) => once(socket, 'close'));
        for (const client of clients) client.destroy();
        await Promise.all(gone);
        reads.release();

        // Each of these comes after what the others still do.
        for (let i = 0; i < 5; i++) assert.equal((await owner.get('/records?limit=1')).status, 200);
        const answer = owner.get(asked);
        await owner.record(`new.r.${namespace}.v1`);
        assert.equal((await answer).status, 200);
        await world.close();
      },
    ]),
  ),
);

describe('the end of a response', () => {
  const opened: (() => void)[] = [];
  afterEach(() => {
    for (const close of opened.splice(0)) close();
  });

  /** A request that nobody has answered yet. */
  async function openResponse(): Promise<{ readonly response: ServerResponse; readonly client: Socket }> {
    const { promise, resolve } = Promise.withResolvers<ServerResponse>();
    const server = createServer((_request, response) => resolve(response));
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    const client = connect((server.address() as AddressInfo).port, '127.0.0.1');
    client.resume().write('GET / HTTP/1.1\r\nHost: x\r\n\r\n');
    opened.push(() => {
      client.destroy();
      server.close();
    });
    return { response: await promise, client };
  }

  const ENDS: Record<string, (of: Awaited<ReturnType<typeof openResponse>>) => Promise<unknown>> = {
    'sent whole': ({ response }) => {
      response.end('x');
      return once(response, 'close');
    },
    'whose client has gone': ({ response, client }) => {
      client.destroy();
      return once(response, 'close');
    },
    'that the server cut off': async ({ response }) => void response.destroy(),
  };

  for (const [title, end] of Object.entries(ENDS)) {
    test(`of one ${title} is told once, and later, whether it is asked for before or afterwards`, async () => {
      for (const isBefore of [true, false]) {
        const of = await openResponse();
        const own = [of.response.listenerCount('finish'), of.response.listenerCount('close')];
        let calls = 0;
        const register = (call = () => void calls++) => onResponseEnd(of.response, call);
        if (isBefore) register();
        else await end(of);
        const cancel = register();
        assert.equal(calls, 0);
        register(() => assert.fail('it was taken back'))();
        if (isBefore) await end(of);
        if (!of.response.closed) await once(of.response, 'close');
        await Promise.resolve();
        assert.equal(calls, isBefore ? 2 : 1);
        cancel();
        assert.deepEqual(
          [of.response.listenerCount('finish'), of.response.listenerCount('close')],
          own,
          'no listener is left',
        );
      }
    });
  }

  test('that came before a streamed array began: it holds neither a place nor a timer, and makes nothing', async () => {
    const of = await openResponse();
    await ENDS['whose client has gone']!(of);
    const timers = createManualTimers();
    let left = 0;
    const reader = { taken() {}, waits() {}, leave: () => void left++ };
    const stream = jsonArrayStream([[{}]], of.response, {
      idleMs: 10_000,
      totalMs: 60_000,
      timers,
      tick: oneTickEach(),
      mayGoOn: async () => assert.fail('a batch was made'),
      reader,
    });
    await Promise.resolve();
    assert.deepEqual([left, timers.pending(), stream.destroyed], [1, [], true]);
  });
});
