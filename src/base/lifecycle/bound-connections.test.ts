import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { type AddressInfo, connect, type Socket } from 'node:net';
import { afterEach, describe, it } from 'node:test';
import { createHealth, createHealthServer } from '../../ops/telemetry/health-server.ts';
import type { WitnessDatabase } from '../../witness/database.ts';
import { createWitnessServer } from '../../witness/server.ts';
import { LIMITS } from '../limits.ts';
import { boundConnections } from './http.ts';
import { realTimers } from './timers.ts';

const clock = (): number => performance.now();
const READY = { status: 200, body: { ready: true } };

/** Octets of metrics that no buffer on the way holds. */
const LARGE = 32_000_000;

const TOLD_READY = { type: 'ready', ready: READY } as const;
const TOLD_METRICS = {
  type: 'metrics',
  metrics: { text: 'x'.repeat(LARGE), contentType: 'text/plain' },
} as const;

function healthServer(idleMs?: number): Server {
  const health = createHealth({
    ready: READY,
    // The answer of the main thread comes later.
    ask: (what) => queueMicrotask(() => health.told(what === 'ready' ? TOLD_READY : TOLD_METRICS)),
    now: clock,
    timers: realTimers,
  });
  return createHealthServer(health, clock, idleMs);
}

/** What asks it for nothing that it holds needs no database. */
const witnessServer = (): Server =>
  createWitnessServer({ database: {} as WitnessDatabase, clock, onError: assert.ifError });

const SERVERS = [
  ['UQRP_METRICS', healthServer, '/livez', 200, LIMITS.healthConnections, LIMITS.healthIdleMs],
  ['a witness', witnessServer, '/', 404, LIMITS.witnessConnections, LIMITS.witnessRequestMs],
] as const;

interface Client {
  readonly socket: Socket;
  readonly text: () => string;
  readonly closed: Promise<unknown>;
}

describe('the connections of a small server', () => {
  const opened: (() => void)[] = [];
  afterEach(() => {
    for (const close of opened.splice(0)) close();
  });

  async function portOf(server: Server): Promise<number> {
    opened.push(() => {
      server.close();
      server.closeAllConnections();
    });
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    return (server.address() as AddressInfo).port;
  }

  function open(port: number, localAddress = '127.0.0.1'): Client {
    const socket = connect({ port, host: '127.0.0.1', localAddress });
    opened.push(() => socket.destroy());
    let text = '';
    socket.setEncoding('latin1').on('data', (chunk) => {
      text += chunk;
    });
    socket.on('error', () => {});
    return { socket, text: () => text, closed: new Promise((resolve) => socket.once('close', resolve)) };
  }

  async function answered(client: Client, status: number, times: number): Promise<void> {
    const count = (): number => client.text().split(`HTTP/1.1 ${status} `).length - 1;
    while (count() < times) await once(client.socket, 'data');
    assert.equal(count(), times);
  }

  for (const [name, make, path, status, connections, idleMs] of SERVERS) {
    const request = `GET ${path} HTTP/1.1\r\nHost: x\r\n\r\n`;

    it(`of ${name}: 16 requests of one are answered at a time, and again; the 17th ends it`, async () => {
      const port = await portOf(make());
      const patient = open(port);
      for (const times of [1, 2, 3]) {
        patient.socket.write(request.repeat(LIMITS.httpPipeline));
        await answered(patient, status, times * LIMITS.httpPipeline);
      }
      const greedy = open(port);
      greedy.socket.write(request.repeat(LIMITS.httpPipeline + 1));
      await greedy.closed;
      assert.equal(patient.socket.destroyed, false);
    });

    it(`of ${name}: as many as there may be, which pipeline and read nothing, do not lock others out`, async () => {
      const server = make();
      const port = await portOf(server);
      const ends: Socket[] = [];
      server.on('connection', (socket) => ends.push(socket));
      let asked = 0;
      server.on('request', () => void asked++);
      for (let i = 0; i < connections; i++) {
        const { socket } = open(port, '127.0.7.1');
        socket.pause();
        socket.write(request.repeat(LIMITS.httpPipeline));
      }
      while (asked < connections * LIMITS.httpPipeline) await new Promise(setImmediate);
      assert.equal(ends.filter(({ destroyed }) => destroyed).length, 0, 'the last one has its place');
      for (let i = 1; i <= 3; i++) {
        const other = open(port, `127.0.8.${i}`);
        other.socket.write(request);
        await answered(other, status, 1);
      }
      assert.equal(ends.filter(({ destroyed }) => destroyed).length, 3);
      assert.equal(server.timeout, idleMs, 'the others end in their time');
    });
  }

  it('which take nothing of their answer end in their time', async () => {
    const server = healthServer(300);
    const port = await portOf(server);
    const asked = once(server, 'request') as Promise<[IncomingMessage, ServerResponse]>;
    const { socket } = open(port);
    socket.pause();
    socket.write('GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n');
    const [, response] = await asked;
    await once(response, 'close');
    assert.deepEqual([response.writableEnded, response.writableFinished], [true, false]);
  });

  it('which take their answer get all of it', async () => {
    const { socket, text } = open(await portOf(healthServer()));
    socket.write('GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n');
    while (text().length < LARGE) await once(socket, 'data');
  });

  it('whose requests are being answered keep their places: the new one is closed', async () => {
    const server = createServer();
    server.on('request', () => {});
    boundConnections(server, { connections: 2, idleMs: 60_000, clock });
    const port = await portOf(server);
    const busy = [open(port, '127.0.7.1'), open(port, '127.0.7.1')];
    for (const { socket } of busy) {
      socket.write('GET / HTTP/1.1\r\nHost: x\r\n\r\n');
      await once(server, 'request');
    }
    await open(port, '127.0.8.1').closed;
    assert.deepEqual(
      busy.map(({ socket }) => socket.destroyed),
      [false, false],
    );
  });
});
