/**
 * What belongs to all cannot be taken by a few. Each attack of the second security review holds places for some seconds, and newcomers ask
 * once a second meanwhile: every one must be served.
 *
 * - Finding 5: four free accounts read eight large pages each, a few octets at a time. Another customer lists records.
 * - Finding 6: 1,030 idle connections of one address to the REST port; then unfinished bodies of one address through the example of nginx.
 * - Finding 7: 43 addresses hold 100 DoH connections each, with one POST after another that never ends.
 *
 *   node test/ci/shares.ts [the src/cli.ts of another checkout, whose figures are only printed]
 */
import assert from 'node:assert/strict';
import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { get as getPlain } from 'node:http';
import { get as getSecure } from 'node:https';
import { connect, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { type ConnectionOptions, connect as connectTls } from 'node:tls';
import { makeSelfSigned } from '../../src/base/certificates.ts';
import { LIMITS } from '../../src/base/limits.ts';
import { freePort } from '../support/free-port.ts';
import { requirePrograms, stop } from '../support/process.ts';
import { account, startUqrp, type Uqrp } from '../support/server-process.ts';

const [otherCli] = process.argv.slice(2);
const cli = otherCli ?? join(import.meta.dirname, '../../src/cli.ts');
const PROBES = 8;
/** Milliseconds after which a newcomer counts as shut out. */
const PROBE_MAX = 5000;
const failures: string[] = [];
const QUESTION = '/dns-query?dns=AAABAAABAAAAAAAABHVxcnADbmV0AAAGAAE';

function start(env: NodeJS.ProcessEnv = {}): Promise<Uqrp> {
  return startUqrp(env, undefined, [], [cli, 'serve', '--json'], cli);
}

interface Probe {
  readonly port: number;
  readonly path: string;
  readonly isSecure?: boolean;
  readonly headers?: Record<string, string>;
}

/** A newcomer: a connection of its own. @returns the status, or how it failed */
function probe({ port, path, isSecure = false, headers = {} }: Probe): Promise<string> {
  const get = isSecure ? getSecure : getPlain;
  const options = { host: '127.0.0.1', port, path, headers, agent: false, timeout: PROBE_MAX };
  return new Promise((resolve) => {
    const request = get({ ...options, rejectUnauthorized: false }, (response) => {
      response.on('error', () => resolve('cut off'));
      response.resume().once('end', () => resolve(String(response.statusCode)));
    });
    request.once('timeout', () => request.destroy(new Error('timeout')));
    request.once('error', (error: NodeJS.ErrnoException) => resolve(error.code ?? error.message));
  });
}

/** Prints what newcomers got, and remembers who was shut out. */
async function newcomers(name: string, ...kinds: Probe[]): Promise<void> {
  const results = new Map<string, number>();
  for (let i = 0; i < PROBES; i++) {
    for (const kind of kinds) {
      const result = await probe(kind);
      results.set(result, (results.get(result) ?? 0) + 1);
    }
    await sleep(1000);
  }
  const all = PROBES * kinds.length;
  const served = results.get('200') ?? 0;
  const told = [...results].map(([result, count]) => `${count} x ${result}`).join(', ');
  process.stdout.write(`${name}: ${served} of ${all} newcomers were served (${told})\n`);
  if (served < all) failures.push(name);
}

/** Small segments and a small window, as over an ordinary network: loopback would take a whole page. */
const SLOW_PAGES = `
import socket, sys, threading, time
port, tokens = int(sys.argv[1]), sys.argv[2:]
def read(token):
    while True:
        s = socket.socket()
        try:
            s.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 2048)
            s.setsockopt(socket.IPPROTO_TCP, socket.TCP_MAXSEG, 536)
            s.connect(('127.0.0.1', port))
            s.sendall(('GET /api/v1/records?limit=500 HTTP/1.1\\r\\nHost: x\\r\\nAuthorization: Bearer %s\\r\\n\\r\\n' % token).encode())
            s.recv(300)
            time.sleep(8)
        except OSError:
            time.sleep(0.2)
        finally:
            s.close()
for token in tokens:
    for _ in range(8):
        threading.Thread(target=read, args=(token,), daemon=True).start()
time.sleep(2)
print('held', flush=True)
time.sleep(300)
`;

async function pages(): Promise<void> {
  const server = await start();
  let reader: ChildProcess | null = null;
  try {
    const tokens: string[] = [];
    for (let i = 0; i < 5; i++) {
      const customer = account(server, `reader-${i}@example.net`, 'free');
      tokens.push(customer.token);
      const namespace = `reader-${i}-x`;
      assert.equal(
        (await customer.call('POST', '/namespaces', { namespace: { name: namespace } })).status,
        201,
      );
      const records = Array.from({ length: 500 }, (_, record) => ({
        key: `k${record}.r.${namespace}.v1`,
        data: randomBytes(LIMITS.recordData).toString('base64'),
      }));
      assert.equal((await customer.call('POST', '/records/bulk', { records })).status, 200);
    }
    const [own, ...theirs] = tokens;
    const port = server.ports.http;
    reader = spawn('python3', ['-c', SLOW_PAGES, String(port), ...theirs], {
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    await once(reader.stdout!, 'data');
    const headers = { authorization: `Bearer ${own}` };
    await newcomers(
      'finding 5, pages of 10 and of 500 records',
      { port, path: '/api/v1/records?limit=10', headers },
      { port, path: '/api/v1/records?limit=500', headers },
    );
  } finally {
    if (reader !== null) await stop(reader);
    await server.remove();
  }
}

/** Opens a connection again whenever it ends. */
function held(open: () => Socket, isOver: () => boolean): void {
  const socket = open();
  socket.on('error', () => {});
  socket.resume();
  socket.once('close', () => {
    if (!isOver()) setTimeout(() => held(open, isOver), 500);
  });
}

async function idleConnections(): Promise<void> {
  const server = await start();
  const sockets = new Set<Socket>();
  let over = false;
  const port = server.ports.http;
  for (let i = 0; i < 1030; i++) {
    held(
      () => {
        const socket = connect({ host: '127.0.0.1', port, localAddress: '127.0.7.1' });
        sockets.add(socket.once('close', () => sockets.delete(socket)));
        return socket.once('connect', () => socket.write('GET /livez HTTP/1.1\r\nHost: x\r\n\r\n'));
      },
      () => over,
    );
  }
  await sleep(2000);
  await newcomers('finding 6, idle connections of one address', { port, path: '/livez' });
  over = true;
  for (const socket of sockets) socket.destroy();
  await server.remove();
}

const NGINX = ['/usr/sbin/nginx', 'nginx'].find((path) => spawnSync(path, ['-v']).status === 0);

/** @returns nginx with the example of the checkout, before a server */
async function startNginx(folder: string, https: number, rest: number): Promise<ChildProcess> {
  const { cert, key } = makeSelfSigned({ hosts: ['localhost', '127.0.0.1'], now: Date.now() });
  writeFileSync(join(folder, 'cert.pem'), cert);
  writeFileSync(join(folder, 'key.pem'), key, { mode: 0o600 });
  const live = '/etc/letsencrypt/live/uqrp.example.com';
  const site = readFileSync(join(dirname(cli), '../deploy/proxy/nginx.conf'), 'utf8')
    .replace('listen 443', `listen ${https}`)
    .replace('127.0.0.1:8080', `127.0.0.1:${rest}`)
    .replace(`${live}/fullchain.pem`, join(folder, 'cert.pem'))
    .replace(`${live}/privkey.pem`, join(folder, 'key.pem'));
  writeFileSync(join(folder, 'site.conf'), site);
  const places = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'];
  const main = `daemon off; pid ${folder}/nginx.pid; error_log stderr crit; worker_rlimit_nofile 16384;
events { worker_connections 8192; }
http { access_log off; ${places.map((name) => `${name}_temp_path ${folder}/${name};`).join(' ')} include ${folder}/site.conf; }
`;
  writeFileSync(join(folder, 'nginx.conf'), main);
  const child = spawn(NGINX!, ['-c', join(folder, 'nginx.conf')], { stdio: ['ignore', 'ignore', 'ignore'] });
  while ((await probe({ port: https, path: '/livez', isSecure: true })) !== '200') await sleep(50);
  return child;
}

/** Connections with TLS whose bytes the caller sends. */
function secure(
  port: number,
  localAddress: string,
  protocol: string,
  bytes: Buffer | string,
): Promise<Socket> {
  const options = {
    host: '127.0.0.1',
    port,
    localAddress,
    rejectUnauthorized: false,
    ALPNProtocols: [protocol],
  };
  const socket = connectTls(options as ConnectionOptions);
  socket.on('error', () => {});
  socket.resume();
  return new Promise((resolve) => {
    socket.once('close', () => resolve(socket));
    socket.once('secureConnect', () => {
      socket.write(bytes);
      resolve(socket);
    });
  });
}

/** So many at once, so that the machine's backlog is not what is measured. */
async function manySecure(count: number, open: (index: number) => Promise<Socket>): Promise<Socket[]> {
  const sockets: Socket[] = [];
  for (let from = 0; from < count; from += 50) {
    const indexes = Array.from({ length: Math.min(50, count - from) }, (_, i) => from + i);
    sockets.push(...(await Promise.all(indexes.map(open))));
  }
  return sockets;
}

async function throughNginx(): Promise<void> {
  if (NGINX === undefined) {
    process.stdout.write('skipped: nginx is not installed (Debian: apt-get install nginx)\n');
    return;
  }
  const folder = mkdtempSync(join(tmpdir(), 'uqrp-shares-'));
  const https = await freePort();
  const server = await start({
    UQRP_TRUSTED_PROXIES: '127.0.0.1',
    UQRP_PUBLIC_URL: `https://localhost:${https}`,
  });
  const nginx = await startNginx(folder, https, server.ports.http);
  const body =
    'POST /dns-query HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/dns-message\r\nContent-Length: 60\r\n\r\nxx';
  const sockets = await manySecure(1100, () => secure(https, '127.0.7.1', 'http/1.1', body));
  await newcomers('finding 6, unfinished bodies of one address through nginx', {
    port: https,
    path: '/livez',
    isSecure: true,
  });
  for (const socket of sockets) socket.destroy();
  await stop(nginx);
  await server.remove();
  rmSync(folder, { recursive: true, force: true });
}

/** A frame of HTTP/2. */
function frame(type: number, flags: number, stream: number, payload: Buffer): Buffer {
  const head = Buffer.alloc(9);
  head.writeUIntBE(payload.length, 0, 3);
  head.writeUInt8(type, 3);
  head.writeUInt8(flags, 4);
  head.writeUInt32BE(stream, 5);
  return Buffer.concat([head, payload]);
}

/** A field as HPACK writes it without a table. */
function field(name: string, value: string): Buffer {
  return Buffer.concat(
    [0, name, value].map((part) => (typeof part === 'number' ? Buffer.of(part) : text(part))),
  );
}

function text(of: string): Buffer {
  return Buffer.concat([Buffer.of(of.length), Buffer.from(of)]);
}

/** HEADERS of a POST of 60 octets, and two of them. */
function unfinishedPost(stream: number): Buffer {
  const fields = [
    field(':method', 'POST'),
    field(':scheme', 'https'),
    field(':authority', 'localhost'),
    field(':path', '/dns-query'),
    field('content-type', 'application/dns-message'),
    field('content-length', '60'),
  ];
  return Buffer.concat([frame(1, 4, stream, Buffer.concat(fields)), frame(0, 0, stream, Buffer.from('xx'))]);
}

async function unfinishedOverDoh(): Promise<void> {
  const server = await start();
  const port = server.ports.doh;
  const preface = Buffer.concat([
    Buffer.from('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n'),
    frame(4, 0, 0, Buffer.alloc(0)),
    unfinishedPost(1),
  ]);
  let stream = 1;
  const open = (index: number): Promise<Socket> => secure(port, `127.0.7.${1 + (index % 43)}`, 'h2', preface);
  const sockets = new Set<Socket>();
  // The next stream before the server's 408 of the one before, and a new connection for each that the server has closed.
  const next = setInterval(() => {
    stream += 2;
    for (const socket of sockets) if (!socket.destroyed) socket.write(unfinishedPost(stream));
  }, 6500);
  for (const socket of await manySecure(4300, open)) sockets.add(socket);
  const again = setInterval(() => {
    const gone = [...sockets].filter(({ destroyed }) => destroyed).slice(0, 100);
    for (const socket of gone) sockets.delete(socket);
    gone.forEach((_, index) => void open(index).then((socket) => sockets.add(socket)));
  }, 1000);
  await newcomers('finding 7, unfinished POSTs over DoH', { port, path: QUESTION, isSecure: true });
  clearInterval(next);
  clearInterval(again);
  for (const socket of sockets) socket.destroy();
  await server.remove();
}

requirePrograms({ python3: 'python3' });
await pages();
await idleConnections();
await throughNginx();
await unfinishedOverDoh();
assert.deepEqual(otherCli === undefined ? failures : [], []);
