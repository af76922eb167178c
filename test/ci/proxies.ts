/**
 * Runs the examples of deploy/proxy with the real nginx and Caddy before a real server, and sends requests of each kind through them: REST,
 * health, metrics, DNS over HTTPS, the live query log, bodies that the server refuses, and forged addresses. Exit code 1 when one fails.
 */
import assert from 'node:assert/strict';
import { type ChildProcess, execFileSync, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type ConnectionOptions, connect, type TLSSocket } from 'node:tls';
import packet from 'dns-packet';
import { makeSelfSigned } from '../../src/base/certificates.ts';
import { LIMITS } from '../../src/base/limits.ts';
import { deployText, replaced } from '../support/deploy/unit-file.ts';
import { freePort } from '../support/free-port.ts';
import { requirePrograms, stop } from '../support/process.ts';
import { type Account, account, startUqrp, type Uqrp } from '../support/server-process.ts';

/** Bounds a check that hangs; no time is asserted. */
const LIMIT_S = 30;
const NAME = 'get.100-km-to-mi.units.public.v1.uqrp.net';
const EXAMPLE_HOST = 'uqrp.example.com';

interface Proxy {
  readonly name: string;
  readonly program: string;
  /** Writes the example with ports and files of this machine. @returns the arguments of the program */
  configure(folder: string, ports: { readonly https: number; readonly rest: number }): readonly string[];
}

interface Answer {
  readonly status: number;
  readonly version: string;
  readonly body: string;
}

const PROXIES: readonly Proxy[] = [
  {
    name: 'nginx',
    program: ['/usr/sbin/nginx', 'nginx'].find((path) => spawnSync(path, ['-v']).status === 0) ?? 'nginx',
    configure(folder, { https, rest }) {
      const live = `/etc/letsencrypt/live/${EXAMPLE_HOST}`;
      const site = replaced(
        deployText('proxy/nginx.conf'),
        ['listen 443', `listen ${https}`],
        ['127.0.0.1:8080', `127.0.0.1:${rest}`],
        [`server_name ${EXAMPLE_HOST}`, 'server_name localhost'],
        [`${live}/fullchain.pem`, join(folder, 'cert.pem')],
        [`${live}/privkey.pem`, join(folder, 'key.pem')],
      );
      writeFileSync(join(folder, 'site.conf'), site);
      const places = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'];
      const main = `daemon off; pid ${folder}/nginx.pid; error_log stderr;
events { worker_connections 4096; }
http {
  access_log off;
${places.map((name) => `  ${name}_temp_path ${folder}/${name};`).join('\n')}
  include ${folder}/site.conf;
}
`;
      writeFileSync(join(folder, 'nginx.conf'), main);
      return ['-c', join(folder, 'nginx.conf')];
    },
  },
  {
    name: 'caddy',
    program: 'caddy',
    configure(folder, { https, rest }) {
      const site = replaced(
        deployText('proxy/Caddyfile'),
        [
          `\n${EXAMPLE_HOST} {\n`,
          `\nhttps://localhost:${https} {\n\ttls ${folder}/cert.pem ${folder}/key.pem\n`,
        ],
        ['127.0.0.1:8080', `127.0.0.1:${rest}`],
        ['\n{\n', '\n{\n\tadmin off\n\tauto_https disable_redirects\n\tskip_install_trust\n'],
      );
      writeFileSync(join(folder, 'Caddyfile'), site);
      return ['run', '--config', join(folder, 'Caddyfile'), '--adapter', 'caddyfile'];
    },
  },
];

requirePrograms({ curl: 'curl', dig: 'bind9-dnsutils' });
const present = PROXIES.filter(({ program }) => spawnSync(program, ['-v']).error === undefined);
for (const { name } of PROXIES.filter((each) => !present.includes(each)))
  process.stdout.write(`skipped: ${name} is not installed (Debian: apt-get install ${name})\n`);
for (const proxy of present) await tryProxy(proxy);

async function tryProxy(proxy: Proxy): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), `uqrp-${proxy.name}-`));
  const https = await freePort();
  const server = await startUqrp({
    UQRP_REST_RATE: 'on',
    UQRP_TRUSTED_PROXIES: '127.0.0.1',
    UQRP_PUBLIC_URL: `https://localhost:${https}`,
  });
  let child: ChildProcess | null = null;
  try {
    const { cert, key } = makeSelfSigned({ hosts: ['localhost', '127.0.0.1'], now: Date.now() });
    writeFileSync(join(folder, 'cert.pem'), cert);
    writeFileSync(join(folder, 'key.pem'), key, { mode: 0o600 });
    mkdirSync(join(folder, 'home'));
    const args = proxy.configure(folder, { https, rest: server.ports.http });
    const env = { ...process.env, HOME: join(folder, 'home'), XDG_DATA_HOME: join(folder, 'home') };
    child = spawn(proxy.program, args, { env, stdio: ['ignore', 'ignore', 'pipe'] });
    let said = '';
    child.stderr?.on('data', (chunk: Buffer) => {
      said += chunk.toString();
    });
    const curl = curlTo(folder, `https://localhost:${https}`);
    try {
      await listens(child, curl);
      await checks(server, curl, proxy.name);
    } catch (error) {
      process.stdout.write(said);
      throw error;
    }
  } finally {
    if (child !== null) await stop(child);
    await server.remove();
    rmSync(folder, { recursive: true, force: true });
  }
}

interface Curl {
  (path: string, ...options: readonly string[]): Answer;
  readonly origin: string;
  readonly certificate: string;
}

function curlTo(folder: string, origin: string): Curl {
  const certificate = join(folder, 'cert.pem');
  const ask = (path: string, ...options: readonly string[]): Answer => {
    const out = join(folder, 'body');
    const args = [
      '-sS',
      '--max-time',
      `${LIMIT_S}`,
      '-o',
      out,
      '-w',
      '%{http_code} %{http_version}',
      ...options,
    ];
    const all = [...args, '--cacert', certificate, path.startsWith('http') ? path : origin + path];
    writeFileSync(out, '');
    const [status = '', version = ''] = execFileSync('curl', all, {
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'pipe'],
    }).split(' ');
    return { status: Number(status), version, body: readFileSync(out, 'latin1') };
  };
  return Object.assign(ask, { origin, certificate });
}

async function listens(child: ChildProcess, curl: Curl): Promise<void> {
  const until = Date.now() + LIMIT_S * 1000;
  for (;;) {
    try {
      assert.equal(curl('/livez').status, 200);
      return;
    } catch (error) {
      if (child.exitCode !== null || Date.now() > until) throw error;
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
  }
}

async function checks(server: Uqrp, curl: Curl, name: string): Promise<void> {
  const owner = account(server);
  const auth = ['-H', `Authorization: Bearer ${owner.token}`];
  const json = [...auth, '-H', 'Content-Type: application/json'];
  const ready = curl('/readyz');
  assert.deepEqual([ready.status, ready.version], [200, '2']);
  // On the REST port metrics are for this host; through a proxy every client would seem to be on this host.
  assert.equal(curl('/metrics').status, 404);
  assert.equal(curl('/api/v1/namespaces', ...json, '-d', '{"namespace":{"name":"shop"}}').status, 201);
  const link = curl('/api/v1/namespaces', ...auth);
  assert.match(link.body, /"name":"shop"/);
  dashboard(curl, `http://localhost:${server.ports.http}`);
  dnsOverHttps(curl);
  refusals(curl, `http://127.0.0.1:${server.ports.http}`, json);
  await liveLog(server, curl, owner);
  addresses(curl);
  await unfinished(server, curl, name);
  process.stdout.write(`${name}: passed\n`);
}

/** The first page and a file that it loads are the same octets as without the proxy. A checkout that was not built has no page. */
function dashboard(curl: Curl, direct: string): void {
  const page = curl('/');
  assert.deepEqual([page.status, page.body], [curl(`${direct}/`).status, curl(`${direct}/`).body]);
  const [, file] = /src="(\/[^"]+\.js)"/.exec(page.body) ?? [];
  if (page.status !== 200) process.stdout.write('skipped: the dashboard is not built\n');
  else assert.equal(curl(file!).body, curl(direct + file!).body);
}

/** Wire format by GET and POST, and JSON. */
function dnsOverHttps(curl: Curl): void {
  const message = packet.encode({ type: 'query', id: 0, flags: 0, questions: [{ type: 'TXT', name: NAME }] });
  const file = join(tmpdir(), `uqrp-doh-${process.pid}`);
  writeFileSync(file, message);
  const type = 'Content-Type: application/dns-message';
  const asked = [
    curl(`/dns-query?dns=${message.toString('base64url')}`),
    curl('/dns-query', '-H', type, '--data-binary', `@${file}`),
  ];
  rmSync(file);
  for (const { status, version, body } of asked) {
    assert.deepEqual([status, version], [200, '2']);
    const [answer] = packet.decode(Buffer.from(body, 'latin1')).answers ?? [];
    assert.match(String(answer?.type === 'TXT' ? answer.data : ''), /res=62\.1371192237/);
  }
  const { status, body } = curl(`/resolve?name=${NAME}&type=TXT`);
  assert.equal(status, 200);
  assert.match(body, /"Status":0.*res=62\.1371192237/);
}

/** The server's own answers, the same with and without the proxy. */
function refusals(curl: Curl, direct: string, json: readonly string[]): void {
  const file = join(tmpdir(), `uqrp-body-${process.pid}`);
  const bodies: ReadonlyArray<readonly [number, string, string]> = [
    [400, '/api/v1/records', '{"record": '],
    [413, '/api/v1/records', ' '.repeat(LIMITS.requestBody + 1)],
    [413, '/api/v1/records/bulk', ' '.repeat(LIMITS.bulkBody + 1)],
    [404, '/api/v1/nothing', '{}'],
    [422, '/api/v1/records', '{"record":{"key":"a.shop.v1","data":"*"}}'],
  ];
  for (const [expected, path, body] of bodies) {
    writeFileSync(file, body);
    const [through, plain] = [
      curl(path, ...json, '-d', `@${file}`),
      curl(direct + path, ...json, '-d', `@${file}`),
    ];
    assert.equal(through.status, expected, `${path}: ${through.body}`);
    assert.deepEqual([through.status, through.body], [plain.status, plain.body]);
    assert.match(through.body, /"code":/);
  }
  rmSync(file);
}

/** A row arrives while the stream is open. */
async function liveLog(server: Uqrp, curl: Curl, owner: Account): Promise<void> {
  const url = `${curl.origin}/api/v1/query_logs/stream`;
  const args = ['-sSN', '--cacert', curl.certificate, '-H', `Authorization: Bearer ${owner.token}`, url];
  const stream = spawn('curl', args, { stdio: ['ignore', 'pipe', 'inherit'] });
  const timer = setTimeout(() => stream.kill('SIGKILL'), LIMIT_S * 1000);
  let text = '';
  stream.stdout.on('data', (chunk: Buffer) => {
    text += chunk.toString();
  });
  const ended = once(stream, 'exit');
  // A stream shows what comes after it began.
  while (!text.includes('"namespace":"shop"') && stream.exitCode === null && stream.signalCode === null) {
    spawnSync('dig', ['@127.0.0.1', '-p', `${server.ports.dns}`, 'TXT', 'get.a.shop.v1.uqrp.net']);
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
  clearTimeout(timer);
  stream.kill('SIGTERM');
  await ended;
  assert.match(text, /"namespace":"shop"/, 'the stream ended without a row');
}

/** Each client has a budget of its own, whatever addresses it claims. */
function addresses(curl: Curl): void {
  const requests = Array.from({ length: LIMITS.unauthenticatedPerMinute + 1 }, (_, i) => [
    ...[
      '-sS',
      '--max-time',
      `${LIMIT_S}`,
      '-o',
      '/dev/null',
      '-w',
      '%{http_code}\\n',
      '--cacert',
      curl.certificate,
    ],
    ...['-H', `X-Forwarded-For: 192.0.2.${i}`, '-H', `Forwarded: for=192.0.2.${i}`],
    `${curl.origin}/api/v1/nothing`,
  ]);
  // One process for all: each request of curl has its own options after --next.
  const args = requests.flatMap((each, i) => (i === 0 ? each : ['--next', ...each]));
  const ask = (): number[] => execFileSync('curl', args, { encoding: 'utf8' }).trim().split('\n').map(Number);
  const statuses = ask();
  assert.equal(statuses.length, requests.length);
  assert.equal(statuses[0], 404);
  // A minute that began with an earlier request may end within these, but not within the next ones, too.
  const last = statuses.at(-1) === 429 ? 429 : ask().at(-1);
  assert.equal(last, 429, 'a forged address got a budget of its own');
  assert.equal(curl('/api/v1/nothing', '--interface', '127.0.0.2').status, 404, 'clients share one budget');
}

/** Unfinished bodies of one client, as many as the server has connections, keep nobody else out. */
async function unfinished(server: Uqrp, curl: Curl, name: string): Promise<void> {
  const { port } = new URL(curl.origin);
  const ca = readFileSync(curl.certificate);
  const head = 'POST /dns-query HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/dns-message\r\n';
  const open: TLSSocket[] = [];
  for (let i = 0; i < LIMITS.restConnections + 76; i++) {
    const options = { host: '127.0.0.1', servername: 'localhost', port: Number(port), ca };
    const socket = connect({ ...options, localAddress: '127.0.5.1' } as ConnectionOptions);
    open.push(socket);
    socket.on('error', () => socket.destroy()).resume();
    await once(socket, 'secureConnect');
    socket.write(`${head}Content-Length: 60\r\n\r\nxx`);
  }
  for (let i = 0; i < 5; i++) assert.equal(curl('/livez', '--interface', '127.0.0.2').status, 200);
  if (name === 'nginx') {
    // The server has not been asked: each body waits in nginx, and what is above its limit gets a 429.
    const connections = readFileSync(`/proc/${server.pid}/net/tcp`, 'utf8').split('\n');
    const rest = server.ports.http.toString(16).toUpperCase().padStart(4, '0');
    const passed = connections.filter((line) => line.includes(` 0100007F:${rest} `) && / 01 /.test(line));
    assert.ok(passed.length < 100, `${passed.length} connections to the server`);
  }
  for (const socket of open) socket.destroy();
}
