import assert from 'node:assert/strict';
import { randomBytes, randomUUID } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { type AddressInfo, connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import type { FastifyInstance } from 'fastify';
import { TEST_SERVICE } from '../../test/support/http/server-parts.ts';
import { backgroundTimers } from '../base/lifecycle/timers.ts';
import { LIMITS } from '../base/limits.ts';
import { aesGcmEncryption } from '../base/seal.ts';
import { openSessions } from '../control/accounts/sessions.ts';
import { openSignInCodes } from '../control/accounts/sign-in.ts';
import { createApi } from '../control/api.ts';
import { openChallenges } from '../control/passkeys/challenges.ts';
import { openPositions } from '../control/unit.ts';
import { openStore } from '../store/open.ts';
import type { Store } from '../store/store.ts';
import { unlimited } from './limiter.ts';

/** Requests as bytes on a socket, and the status that each brings; the answer is JSON all the same. */
const RAW: readonly (readonly [string, string, number, string])[] = [
  ['no request at all', 'hello\r\n\r\n', 400, 'Request is malformed'],
  ['an unknown method', 'BREW / HTTP/1.1\r\nHost: x\r\n\r\n', 400, 'Request is malformed'],
  ['a header without a colon', 'GET / HTTP/1.1\r\nHost: x\r\nbad\r\n\r\n', 400, 'Request is malformed'],
  [
    'two lengths',
    'POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nx',
    400,
    'Request is malformed',
  ],
  [
    'a length beside chunks',
    'POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n',
    400,
    'Request is malformed',
  ],
  ['no host', 'GET /api/v1/me HTTP/1.1\r\nConnection: close\r\n\r\n', 400, 'Host is missing'],
  [
    'headers too large',
    `GET / HTTP/1.1\r\nHost: x\r\nX: ${'x'.repeat(20_000)}\r\n\r\n`,
    431,
    'Headers are too large',
  ],
  [
    'a method that is known to HTTP only',
    'PROPFIND /api/v1/me HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n',
    405,
    'Method is not allowed here',
  ],
];

describe('the API on a socket', () => {
  let app: FastifyInstance;
  let store: Store;
  let dataDir: string;
  const observed: number[] = [];
  const elapsedMs: number[] = [];
  const failures: { readonly message: string; readonly requestId: string | undefined }[] = [];
  let port: number;

  before(async () => {
    dataDir = mkdtempSync(join(tmpdir(), 'uqrp-api-'));
    const clock = Date.now;
    const newId = (): string => randomUUID();
    store = await openStore({ dataDir, databaseUrl: null, clock });
    const sessions = openSessions({ store, clock, newId }, randomBytes(32));
    const random = (bytes: number): Uint8Array => randomBytes(bytes);
    app = createApi({
      store,
      clock,
      newId,
      random,
      sessions,
      historyKeys: aesGcmEncryption(randomBytes(32), random),
      codes: openSignInCodes({ store, clock, random }, randomBytes(32)),
      sendCode: () => {},
      zoneLength: 8,
      limiter: unlimited,
      flags: { limiter: unlimited, ticketKey: randomBytes(32), usage: { add: async () => {} } },
      publicUrl: () => 'http://localhost',
      service: TEST_SERVICE,
      trustedProxies: [],
      billing: false,
      nodes: { list: () => [], onMoved: () => () => {} },
      positions: openPositions(aesGcmEncryption(randomBytes(32), random, 0)),
      encryption: aesGcmEncryption(randomBytes(32), random),
      organizations: false,
      sendInvitation: () => {},
      challenges: openChallenges({ clock, random }, randomBytes(32)),
      answers: aesGcmEncryption(randomBytes(32), random, 0),
      timers: backgroundTimers,
      sendAttempt: () => Promise.reject(new Error('nothing is sent in these tests')),
      checkUrl: async () => null,
      onError: (error, requestId) => failures.push({ message: (error as Error).message, requestId }),
      observe: ({ seconds }) => observed.push(seconds),
    });
    app.addHook('onResponse', async (_request, reply) => {
      elapsedMs.push(reply.elapsedTime);
    });
    app.get('/fault', () => Promise.reject(new Error('a fault of the server')));
    app.get('/fault-before-trailer', (_request, reply) => {
      reply.header('trailer', 'X-Record-Count').header('content-disposition', 'attachment');
      return Promise.reject(new Error('a fault of the server'));
    });
    await app.listen({ host: '127.0.0.1', port: 0 });
    port = (app.server.address() as AddressInfo).port;
  });
  after(async () => {
    await app.close();
    await store.close();
    rmSync(dataDir, { recursive: true, force: true });
  });

  /** Everything that the server says until it closes the connection. */
  const talk = (bytes: string): Promise<string> =>
    new Promise((resolve, reject) => {
      const socket = connect(port, '127.0.0.1', () => socket.write(bytes));
      let text = '';
      socket.setEncoding('utf8');
      socket.on('data', (chunk) => {
        text += chunk;
      });
      socket.on('error', reject);
      socket.on('close', () => resolve(text));
    });

  for (const [label, bytes, status, message] of RAW) {
    test(`${label}: ${status}`, async () => {
      const answer = await talk(bytes);
      const [head, body] = answer.split('\r\n\r\n', 2) as [string, string];
      assert.match(head, new RegExp(`^HTTP/1.1 ${status} `));
      assert.match(head, /content-type: application\/json/i);
      assert.deepEqual(JSON.parse(body), { error: message, code: 'validation_error' });
    });
  }

  /** A request with a body of this announced length, and another request behind it. */
  const large = (length: number, sent: number): string =>
    `POST /api/v1/auth/sign_in HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: ${length}\r\n\r\n${' '.repeat(sent)}` +
    'GET /api/v1/me HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n';
  const statuses = (text: string): readonly string[] =>
    Array.from(text.matchAll(/HTTP\/1\.1 (\d+)/g), ([, status]) => status!);

  test('a body that is too large is read and discarded: the connection goes on', async () => {
    const length = LIMITS.discardedBody;
    assert.deepEqual(statuses(await talk(large(length, length))), ['413', '401']);
  });

  test('a body that is far too large closes the connection', async () => {
    const answer = await talk(large(LIMITS.discardedBody + 1, 0));
    assert.deepEqual(statuses(answer), ['413']);
    assert.match(answer, /^connection: close/im);
  });

  test('a connection that is cut short harms nobody', async () => {
    await new Promise<void>((resolve) => {
      const socket = connect(port, '127.0.0.1', () => {
        socket.write('POST /api/v1/records HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\n{');
        socket.resetAndDestroy();
        resolve();
      });
    });
    assert.match(await talk('GET /api/v1/me HTTP/1.0\r\n\r\n'), /^HTTP\/1\.[01] 401 /);
  });

  test("a fault of the server is reported with the X-Request-Id of its answer, never with the client's", async () => {
    failures.length = 0;
    const answer = await fetch(`http://127.0.0.1:${port}/fault`, {
      headers: { 'X-Request-Id': 'of-a-client' },
    });
    assert.equal(answer.status, 500);
    const requestId = answer.headers.get('x-request-id')!;
    assert.match(requestId, /^[0-9a-f-]{36}$/);
    assert.deepEqual(failures, [{ message: 'a fault of the server', requestId }]);
  });

  test('a fault of an answer that would have had a trailer is told as any other', async () => {
    const answer = await fetch(`http://127.0.0.1:${port}/fault-before-trailer`);
    assert.equal(answer.status, 500);
    assert.deepEqual(await answer.json(), { error: 'Server error', code: 'server_error' });
    assert.equal(answer.headers.get('trailer'), null);
    assert.equal(answer.headers.get('content-disposition'), null);
  });

  test('what a request took is observed in seconds', async () => {
    await fetch(`http://127.0.0.1:${port}/api/v1/me`);
    assert.ok(observed.length > 0);
    assert.deepEqual(
      observed,
      elapsedMs.map((ms) => ms / 1000),
    );
  });

  test('slow requests are cut off', () => {
    const { server } = app;
    assert.ok(server.headersTimeout > 0 && server.headersTimeout <= server.requestTimeout);
    assert.ok(server.requestTimeout <= 60_000);
    assert.ok(server.timeout > 0);
  });
});
