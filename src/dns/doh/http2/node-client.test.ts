import assert from 'node:assert/strict';
import { once } from 'node:events';
import * as http2 from 'node:http2';
import { createServer, type Socket } from 'node:net';
import { test } from 'node:test';
import fc from 'fast-check';
import { gather } from '../../../../test/support/dns/doh/doh-clients.ts';
import { createHeldOctets } from '../../../base/lifecycle/held-octets.ts';
import { StreamTurns } from '../../shared/turns.ts';
import { listening } from '../../stream/stream-server.ts';
import { Http2Server } from './connection.ts';
import { commonHeaders } from './hpack-encoder.ts';
import type { Http2Stream } from './stream.ts';

/** Node's HTTP/2 is nghttp2's: its HPACK, frames and windows test ours, over TCP without TLS. */

const COMMON = { 'access-control-allow-origin': '*' };

interface Scene {
  readonly connect: (options?: http2.ClientSessionOptions) => http2.ClientHttp2Session;
  readonly heads: Http2Stream['head'][];
  readonly server: Http2Server;
}

/** Answers with the length and the octets of the body, or with as many octets as the path says. */
async function withServer(scenario: (scene: Scene) => Promise<void>): Promise<void> {
  const heads: Http2Stream['head'][] = [];
  const server = new Http2Server({
    limits: { streams: 100, body: 65_535, requestMs: 10_000, idleMs: 30_000 },
    clock: Date.now,
    common: commonHeaders(COMMON),
    turns: new StreamTurns(),
    misses: () => 0,
    held: createHeldOctets(Number.POSITIVE_INFINITY),
    onFault: (fault) => {
      throw fault;
    },
    onRequest: (stream) => {
      heads.push(stream.head);
      const size = Number(/^\/size\/(\d+)$/.exec(stream.head.target)?.[1] ?? -1);
      const respond = (body: Uint8Array): void =>
        stream.respond({ status: 200, headers: { 'x-length': String(body.length) }, body });
      if (size >= 0) respond(Buffer.alloc(size, 'x'));
      else
        stream.readBody((body) => {
          if (typeof body !== 'string') respond(Buffer.copyBytesFrom(body));
        });
    },
  });
  const sockets = new Set<Socket>();
  const listener = createServer((socket) => {
    sockets.add(socket);
    server.serve(socket, '127.0.0.1');
  });
  const { port } = await listening(listener, { host: '127.0.0.1', port: 0, reusePort: false });
  const sessions: http2.ClientHttp2Session[] = [];
  try {
    await scenario({
      server,
      heads,
      connect: (options) => {
        const session = http2.connect(`http://127.0.0.1:${port}`, options);
        session.on('error', () => session.destroy());
        sessions.push(session);
        return session;
      },
    });
  } finally {
    for (const session of sessions) session.destroy();
    for (const socket of sockets) socket.destroy();
    listener.close();
    server.stop();
  }
}

async function ask(
  session: http2.ClientHttp2Session,
  headers: http2.OutgoingHttpHeaders,
  body?: Uint8Array,
): Promise<{ headers: http2.IncomingHttpHeaders; body: Buffer }> {
  const stream = session.request(headers, { endStream: body === undefined });
  const response = once(stream, 'response') as Promise<[http2.IncomingHttpHeaders]>;
  const octets = gather(stream);
  if (body !== undefined) stream.end(body);
  const [[received], gathered] = await Promise.all([response, octets]);
  return { headers: received, body: gathered };
}

test('any targets, types and bodies arrive as they were sent, and come back', async () => {
  await withServer(async ({ connect, heads }) => {
    const session = connect();
    const path = fc
      .array(fc.integer({ min: 0x21, max: 0x7e }), { maxLength: 300 })
      .map((codes) => `/${String.fromCharCode(...codes)}`);
    const value = fc
      .array(fc.integer({ min: 0x21, max: 0x7e }), { minLength: 1, maxLength: 60 })
      .map((codes) => String.fromCharCode(...codes));
    const others = fc.dictionary(fc.constantFrom('x-a', 'x-b', 'cookie', 'accept', 'user-agent'), value);
    await fc.assert(
      fc.asyncProperty(
        path,
        value,
        others,
        fc.uint8Array({ maxLength: 3000 }),
        async (target, type, more, body) => {
          const headers = { ':method': 'POST', ':path': target, 'content-type': type, ...more };
          const reply = await ask(session, headers, body);
          assert.deepEqual(reply.body, Buffer.from(body));
          assert.equal(reply.headers['x-length'], String(body.length));
          const { method, target: got, contentType } = heads.at(-1)!;
          assert.deepEqual([method, got, contentType], ['POST', target, type]);
        },
      ),
      { seed: 7541, numRuns: 300 },
    );
  });
});

test('windows of any size, both ways, many streams at once', async () => {
  await withServer(async ({ connect }) => {
    for (const initialWindowSize of [1, 100, 16_384, 65_535, 1_000_000]) {
      const session = connect({ settings: { initialWindowSize } });
      // A reply of many windows is what an attacker asks for; see the tests of abuse.
      const sizes = [0, 1, 99, 100, 101, 5000, 70_000].filter((size) => size <= 100 * initialWindowSize);
      const replies = await Promise.all(
        [...sizes, ...sizes].map((size) => ask(session, { ':path': `/size/${size}` })),
      );
      assert.deepEqual(
        replies.map(({ body }) => body.length),
        [...sizes, ...sizes],
      );
      const body = Buffer.alloc(65_535, 'b');
      if (initialWindowSize < 16_384) continue;
      const echoed = await Promise.all([1, 2].map(() => ask(session, { ':method': 'POST' }, body)));
      assert.ok(echoed.every((one) => one.body.equals(body)));
      session.close();
    }
  });
});

test('settings that change while replies wait', async () => {
  await withServer(async ({ connect }) => {
    const session = connect({ settings: { initialWindowSize: 10, headerTableSize: 4096 } });
    const waiting = ask(session, { ':path': '/size/3000' });
    for (const settings of [
      { initialWindowSize: 0, headerTableSize: 0 },
      { initialWindowSize: 500, headerTableSize: 65_536 },
      { initialWindowSize: 100_000, headerTableSize: 100 },
    ]) {
      await new Promise<void>((resolve) => session.settings(settings, () => resolve()));
      await new Promise<void>((resolve) => session.ping(() => resolve()));
    }
    assert.equal((await waiting).body.length, 3000);
    const { headers } = await ask(session, { ':path': '/size/1' });
    assert.equal(headers['access-control-allow-origin'], '*');
  });
});

test('trailers and padding as Node sends them', async () => {
  await withServer(async ({ connect }) => {
    const session = connect({ paddingStrategy: http2.constants.PADDING_STRATEGY_MAX });
    const stream = session.request({ ':method': 'POST' }, { waitForTrailers: true });
    stream.on('wantTrailers', () => stream.sendTrailers({ 'x-sum': '1' }));
    stream.end('body');
    assert.equal((await gather(stream)).toString(), 'body');
    assert.equal((await ask(session, { ':path': '/size/7' })).body.length, 7);
  });
});

test('orderly close: the request in flight is answered, the session ends', async () => {
  await withServer(async ({ connect, server, heads }) => {
    const session = connect();
    const stream = session.request({ ':method': 'POST' });
    stream.write('half');
    while (heads.length === 0) await new Promise((resolve) => setTimeout(resolve, 2));
    const codes: number[] = [];
    session.on('goaway', (code) => codes.push(code));
    const closed = once(session, 'close');
    server.drain();
    while (codes.length === 0) await new Promise((resolve) => setTimeout(resolve, 2));
    stream.end('whole');
    assert.equal((await gather(stream)).toString(), 'halfwhole');
    await closed;
    assert.ok(codes.every((code) => code === 0));
  });
});
