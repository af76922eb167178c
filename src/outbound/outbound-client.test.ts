import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer as createHttp, type RequestListener, type Server } from 'node:http';
import { createServer as createHttps } from 'node:https';
import { type AddressInfo, createServer as createTcp } from 'node:net';
import { after, before, describe, it } from 'node:test';
import { makeSelfSigned } from '../base/certificates.ts';
import type { Resolve } from './connection.ts';
import { createOutboundClient, type OutboundClientOptions } from './outbound-client.ts';
import type { OutboundFault, OutboundResult } from './request.ts';
import { PUBLIC_ONLY, type TargetPolicy } from './target.ts';

/** A policy for tests, whose servers can only be local. */
const ANYWHERE: TargetPolicy = { allows: () => true, admits: () => true };
const LOOPBACK: Resolve = async () => ['127.0.0.1'];
const tls = makeSelfSigned({ hosts: ['good.test'], now: Date.now() });
const other = makeSelfSigned({ hosts: ['good.test'], now: Date.now() });
const expired = makeSelfSigned({ hosts: ['good.test'], now: Date.now() - 900 * 86_400_000 });

const portOf = (server: { address(): unknown }): number => (server.address() as AddressInfo).port;

async function listening<S extends Server>(server: S): Promise<S> {
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return server;
}

interface Ask {
  readonly path?: string;
  readonly method?: 'GET' | 'POST';
  readonly body?: Uint8Array;
  readonly maxBytes?: number;
}

function ask(
  origin: string,
  options: Partial<OutboundClientOptions>,
  more: Ask = {},
): Promise<OutboundResult> {
  const { path = '/', method = 'GET', maxBytes = 1000, ...rest } = more;
  const client = createOutboundClient({
    policy: ANYWHERE,
    resolve: LOOPBACK,
    deadlineMs: 5000,
    ca: tls.cert,
    ...options,
  });
  return client({ method, url: new URL(path, origin), headers: { 'x-test': 'yes' }, maxBytes, ...rest });
}

const faultOf = (result: OutboundResult): OutboundFault | number =>
  result.kind === 'failed' ? result.fault : result.status;

const ROUTES: Readonly<Record<string, RequestListener>> = {
  '/echo': (request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      const { headers, method } = request;
      response.end(JSON.stringify({ headers, method, body: Buffer.concat(chunks).toString() }));
    });
  },
  '/redirect': (_request, response) => response.writeHead(302, { location: '/echo' }).end('moved'),
  '/exact': (_request, response) => response.end('x'.repeat(1000)),
  '/declared': (_request, response) => response.end('x'.repeat(1001)),
  '/endless': (_request, response) => {
    const timer = setInterval(() => response.write('x'.repeat(500)), 1);
    response.on('close', () => clearInterval(timer));
  },
  '/drip': (_request, response) => {
    const timer = setInterval(() => response.write('x'), 5);
    response.on('close', () => clearInterval(timer));
  },
  '/silent': () => {},
  '/hang-up': (request) => request.socket.destroy(),
  '/cut': (request, response) => {
    response.writeHead(200, { 'content-length': '100' });
    response.write('x', () => request.socket.destroy());
  },
  '/upgrade': (request) => {
    request.socket.write('HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: Upgrade\r\n\r\n');
  },
  '/large-head': (_request, response) => response.writeHead(200, { 'x-large': 'x'.repeat(20_000) }).end(),
  '/garbage': (request) => request.socket.end('no http at all\r\n\r\n'),
};

const serve: RequestListener = (request, response) => ROUTES[request.url ?? '']?.(request, response);

describe('an outbound client', () => {
  let plain: Server;
  let secure: Server;
  let http: string;
  let https: string;

  before(async () => {
    plain = await listening(createHttp(serve));
    secure = await listening(createHttps(tls, serve));
    http = `http://good.test:${portOf(plain)}`;
    https = `https://good.test:${portOf(secure)}`;
  });
  after(() => {
    for (const server of [plain, secure]) {
      server.closeAllConnections();
      server.close();
    }
  });

  it('sends the name, not the address, and asks for no compression', async () => {
    for (const origin of [http, https]) {
      const body = Buffer.from('hello');
      const result = await ask(origin, {}, { path: '/echo', method: 'POST', body });
      assert.ok(result.kind === 'response');
      const seen = JSON.parse(result.body.toString()) as { headers: object; method: string; body: string };
      assert.equal(seen.method, 'POST');
      assert.equal(seen.body, 'hello');
      assert.deepEqual(seen.headers, {
        'x-test': 'yes',
        host: new URL(origin).host,
        'accept-encoding': 'identity',
        'content-length': '5',
        connection: 'close',
      });
    }
  });

  it('connects to the address that was checked', async () => {
    const vetted: string[] = [];
    const policy: TargetPolicy = {
      allows: () => true,
      admits: (_url, address) => vetted.push(address) > 0,
    };
    assert.equal(faultOf(await ask(https, { policy }, { path: '/exact' })), 200);
    assert.deepEqual(vetted, ['127.0.0.1']);
  });

  it('returns the response or a fault code', async () => {
    const table: readonly [string, OutboundFault | number][] = [
      ['/redirect', 302],
      ['/exact', 200],
      ['/declared', 'too_large'],
      ['/endless', 'too_large'],
      ['/hang-up', 'connection_failed'],
      ['/cut', 'connection_failed'],
      ['/upgrade', 'connection_failed'],
      ['/large-head', 'connection_failed'],
      ['/garbage', 'connection_failed'],
    ];
    for (const origin of [http, https]) {
      for (const [path, expected] of table) {
        assert.equal(faultOf(await ask(origin, {}, { path })), expected, `${origin}${path}`);
      }
    }
  });

  it('reads no body where only the head is wanted', async () => {
    const result = await ask(https, {}, { path: '/endless', maxBytes: 0 });
    assert.ok(result.kind === 'response');
    assert.deepEqual([result.status, result.body.length], [200, 0]);
  });

  it('has one deadline over silence, drip and resolution', async () => {
    for (const path of ['/silent', '/drip']) {
      assert.equal(faultOf(await ask(https, { deadlineMs: 100 }, { path })), 'timeout', path);
    }
    const never: Resolve = (_host, signal) =>
      new Promise((resolve) => signal.addEventListener('abort', () => resolve([]), { once: true }));
    assert.equal(faultOf(await ask(https, { deadlineMs: 50, resolve: never })), 'timeout');
  });

  it('ends when its caller does', async () => {
    const client = createOutboundClient({ policy: ANYWHERE, resolve: LOOPBACK, deadlineMs: 60_000 });
    const controller = new AbortController();
    const request = { method: 'GET', url: new URL('/silent', http), headers: {}, maxBytes: 10 } as const;
    const pending = client(request, controller.signal);
    setTimeout(() => controller.abort(), 20);
    assert.equal(faultOf(await pending), 'timeout');
    assert.equal(faultOf(await client(request, controller.signal)), 'timeout');
  });

  it('checks the certificate against the name', async () => {
    const port = portOf(secure);
    const table: readonly [string, string | undefined, OutboundFault | number][] = [
      [`https://good.test:${port}`, tls.cert, 302],
      [`https://127.0.0.1:${port}`, tls.cert, 302],
      [`https://wrong.test:${port}`, tls.cert, 'tls_error'],
      [`https://good.test:${port}`, other.cert, 'tls_error'],
      [`https://good.test:${portOf(plain)}`, tls.cert, 'tls_error'],
    ];
    for (const [origin, ca, expected] of table) {
      const options = ca === undefined ? {} : { ca };
      assert.equal(faultOf(await ask(origin, options, { path: '/redirect' })), expected, origin);
    }
    const untrusting = createOutboundClient({ policy: ANYWHERE, resolve: LOOPBACK, deadlineMs: 5000 });
    const url = new URL('/redirect', https);
    assert.equal(faultOf(await untrusting({ method: 'GET', url, headers: {}, maxBytes: 1 })), 'tls_error');
  });

  it('refuses an expired certificate and a handshake that stops', async () => {
    const late = await listening(createHttps(expired, serve));
    const mute = createTcp(() => {}).listen(0, '127.0.0.1');
    await once(mute, 'listening');
    try {
      const origin = `https://good.test:${portOf(late)}`;
      assert.equal(faultOf(await ask(origin, { ca: expired.cert })), 'tls_error');
      const silent = `https://good.test:${portOf(mute)}`;
      assert.equal(faultOf(await ask(silent, { deadlineMs: 100 })), 'timeout');
    } finally {
      late.close();
      mute.close();
    }
  });

  it('tries another address while nothing has been sent, and never after', async () => {
    let requests = 0;
    const counting = await listening(
      createHttp((request) => {
        requests++;
        request.socket.resetAndDestroy();
      }),
    );
    try {
      const origin = `http://good.test:${portOf(counting)}`;
      // No server listens on the first: it is bound to 127.0.0.1 only.
      const resolve: Resolve = async () => ['127.0.0.9', '127.0.0.1', '127.0.0.1'];
      assert.equal(faultOf(await ask(origin, { resolve })), 'connection_failed');
      assert.equal(requests, 1);
      assert.equal(faultOf(await ask(http, { resolve }, { path: '/exact' })), 200);
    } finally {
      counting.close();
    }
  });

  it('connects to none when one of many addresses is bad, or there is none', async () => {
    const policy: TargetPolicy = { ...PUBLIC_ONLY, allows: () => true };
    const table: readonly [readonly string[], OutboundFault][] = [
      [['127.0.0.1'], 'blocked_address'],
      [['1.1.1.1', '2606:4700::1111', '10.0.0.1'], 'blocked_address'],
      [['::ffff:1.1.1.1'], 'blocked_address'],
      [[], 'dns_failure'],
    ];
    for (const [addresses, expected] of table) {
      assert.equal(faultOf(await ask(https, { policy, resolve: async () => addresses })), expected);
    }
  });

  it('checks every address of a host, and connects to at most three', async () => {
    const addresses = Array.from({ length: 300 }, (_, n) => `8.8.${n >> 8}.${n & 0xff}`);
    for (const bad of [undefined, '10.0.0.1']) {
      const vetted: string[] = [];
      const dialled: string[] = [];
      const policy: TargetPolicy = {
        allows: () => true,
        admits: (_url, address) => vetted.push(address) > 0 && address !== bad,
      };
      const dial: OutboundClientOptions['dial'] = async (_request, { address }) => {
        dialled.push(address);
        return { result: { kind: 'failed', fault: 'connection_failed' }, wasConnected: false };
      };
      const resolve: Resolve = async () => [...addresses, ...(bad === undefined ? [] : [bad])];
      const expected = bad === undefined ? 'connection_failed' : 'blocked_address';
      assert.equal(faultOf(await ask(https, { policy, resolve, dial })), expected);
      assert.equal(vetted.length, bad === undefined ? 300 : 301);
      assert.deepEqual(dialled, bad === undefined ? addresses.slice(0, 3) : []);
    }
  });

  it('answers 20 requests at a time', async () => {
    const results = await Promise.all(Array.from({ length: 20 }, () => ask(https, {}, { path: '/exact' })));
    assert.deepEqual(new Set(results.map(faultOf)), new Set([200]));
  });
});
