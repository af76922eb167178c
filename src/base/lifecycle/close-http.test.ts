import assert from 'node:assert/strict';
import { once } from 'node:events';
import { Agent, createServer, request, type Server, type ServerResponse } from 'node:http';
import { type AddressInfo, connect } from 'node:net';
import { describe, it } from 'node:test';
import { closeHttp } from './http.ts';

const NEVER_MS = 600_000;

async function listening(server: Server): Promise<number> {
  server.keepAliveTimeout = NEVER_MS;
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return (server.address() as AddressInfo).port;
}

const closed = (server: Server): Promise<unknown> => new Promise((resolve) => server.close(resolve));

describe('closing an HTTP server', () => {
  it('answers the request under way, and then ends its connection, which the client would keep', async () => {
    const server = createServer();
    const port = await listening(server);
    const agent = new Agent({ keepAlive: true });
    const asked = request({ host: '127.0.0.1', port, agent }).end();
    const [, response] = (await once(server, 'request')) as [unknown, ServerResponse];
    const closing = closeHttp({ server, close: () => closed(server), graceMs: NEVER_MS });
    response.end('whole');
    const [reply] = await once(asked, 'response');
    assert.equal(Buffer.concat(await reply.toArray()).toString(), 'whole');
    await closing;
    agent.destroy();
  });

  it('ends a connection that sends nothing once the time of grace is over', async () => {
    const server = createServer();
    const port = await listening(server);
    const silent = connect(port, '127.0.0.1');
    silent.on('error', () => {});
    await once(server, 'connection');
    const waiting: { ms: number; run: () => void }[] = [];
    const timers = {
      after(ms: number, run: () => void) {
        waiting.push({ ms, run });
        return () => {};
      },
      elapsed: () => 0,
    };
    const closing = closeHttp({ server, close: () => closed(server), graceMs: 5000, timers });
    waiting.find(({ ms }) => ms === 5000)!.run();
    await closing;
    silent.destroy();
  });
});
