/**
 * Clients behind a proxy have limits and cookies of their own. Runs deploy/dnsdist.conf with Debian's dnsdist before a real server, in a network
 * namespace of its own, and haproxy before DoT and DoH, where dnsdist sends its header inside TLS. Two clients ask from two networks: one floods,
 * 500 queries a second for three seconds or more connections than an address may have, the other asks as ever. The same is done without PROXY headers,
 * to show what they change. Exit code 1 when a client pays for the other.
 */
import assert from 'node:assert/strict';
import { type ChildProcess, execFileSync, spawn, spawnSync } from 'node:child_process';
import { createSocket, type Socket as UdpSocket } from 'node:dgram';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { connect, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { type ConnectionOptions, connect as connectTls } from 'node:tls';
import packet from 'dns-packet';
import { makeSelfSigned } from '../../src/base/certificates.ts';
import { LIMITS } from '../../src/base/limits.ts';
import { deployText, replaced } from '../support/deploy/unit-file.ts';
import { enterOwnNetwork } from '../support/own-network.ts';
import { requirePrograms, stop } from '../support/process.ts';
import { startUqrp, type Uqrp } from '../support/server-process.ts';

/** Bounds a check that hangs; no time is asserted. */
const LIMIT_S = 20;
/** UDP replies a second to one network. The quiet client asks for less, the flood for ten times that. */
const RATE = 50;
const FLOOD = { perSecond: 500, seconds: 3 } as const;
const QUIET = { queries: 60, paceMs: 50 } as const;
const FLOODER = '127.10.1.1';
const OTHER = '127.20.1.1';
const PROXY = '127.0.0.53';
const NAME = 'get.100-km-to-mi.units.public.v1.uqrp.net';
const TEXT = 'res=62.1371192237';
const CLIENT_COOKIE = '0102030405060708';
const TC = 0x02;

interface Figures {
  /** Whole answers of the quiet client, and of the other one. */
  readonly quiet: number;
  readonly flooder: number;
}

requirePrograms({ dnsdist: 'dnsdist', kdig: 'knot-dnsutils', ip: 'iproute2', unshare: 'util-linux' });
enterOwnNetwork([]);

const folder = mkdtempSync(join(tmpdir(), 'uqrp-dnsdist-'));
const { cert, key } = makeSelfSigned({ hosts: ['localhost', '127.0.0.1'], now: Date.now() });
writeFileSync(join(folder, 'cert.pem'), cert);
writeFileSync(join(folder, 'key.pem'), key, { mode: 0o600 });
try {
  const version = spawnSync('dnsdist', ['--version'], { encoding: 'utf8' }).stdout;
  const hasQuic = version.includes('dns-over-quic');
  process.stdout.write(`${version.split(' (', 1)[0]}\n`);
  if (!hasQuic)
    process.stdout.write('not tried: DNS over QUIC and over HTTP/3, which this dnsdist has not\n');
  const conf = replaced(deployText('dnsdist.conf'), ['/etc/dnsdist/', `${folder}/`]);

  const named = await behind(
    hasQuic ? replaced(conf, ['quic = false', 'quic = true']) : conf,
    PROXY,
    async (server, log) => {
      transports();
      await equalAnswers();
      await cookies();
      const figures = await flood();
      await refusals();
      await behindHaproxy();
      await nothingTold(server, log);
      return figures;
    },
  );
  const unnamed = await behind(
    replaced(conf, ['useProxyProtocol = true', 'useProxyProtocol = false']),
    null,
    flood,
  );
  const { queries } = QUIET;
  process.stdout.write(
    `beside a flood of ${FLOOD.perSecond} queries a second, limit ${RATE}: with PROXY headers ${named.quiet} of ${queries} queries of another client have whole answers, without ${unnamed.quiet}; the flood had ${named.flooder} and ${unnamed.flooder} of ${FLOOD.perSecond * FLOOD.seconds}\n`,
  );
  assert.ok(named.quiet >= queries * 0.95, 'a client paid for the flood of another one');
  assert.ok(named.flooder <= RATE * (FLOOD.seconds + 2), 'the flood was not limited');
  assert.ok(
    unnamed.quiet <= queries / 2,
    'without headers nobody paid: the flood was too small to show anything',
  );
} finally {
  rmSync(folder, { recursive: true, force: true });
}

/** @param proxies UQRP_PROXY_PROTOCOL; null: unset */
async function behind<T>(
  conf: string,
  proxies: string | null,
  work: (server: Uqrp, log: () => string) => Promise<T>,
): Promise<T> {
  const path = join(folder, 'dnsdist.conf');
  writeFileSync(path, conf);
  let log = '';
  const server = await startUqrp({
    UQRP_DNS_PORT: '5300',
    UQRP_DOT_PORT: '8853',
    UQRP_DOH_PORT: '8443',
    UQRP_DNS_RATE: String(RATE),
    UQRP_WORKERS: '2',
    ...(proxies !== null && { UQRP_PROXY_PROTOCOL: proxies }),
  });
  for (const stream of [server.child.stdout!, server.child.stderr!])
    stream.on('data', (chunk: Buffer) => (log += chunk.toString()));
  const proxy = spawn('dnsdist', ['--supervised', '--disable-syslog', '-C', path], { stdio: 'pipe' });
  try {
    await says(proxy, "Marking downstream streams (127.0.0.1:5300) as 'up'");
    return await work(server, () => log);
  } finally {
    await stop(proxy);
    await server.remove();
  }
}

/** Waits until a program has printed a text. */
async function says(child: ChildProcess, text: string): Promise<void> {
  let said = '';
  for (const stream of [child.stdout!, child.stderr!])
    stream.on('data', (chunk: Buffer) => (said += chunk.toString()));
  const until = Date.now() + LIMIT_S * 1000;
  while (!said.includes(text)) {
    if (child.exitCode !== null || Date.now() > until) throw new Error(`the proxy did not start: ${said}`);
    await sleep(20);
  }
}

function kdig(client: string, ...options: readonly string[]): string {
  const args = [
    '-b',
    client,
    '@127.0.0.1',
    NAME,
    'TXT',
    '+short',
    `+timeout=${LIMIT_S}`,
    '+retry=0',
    ...options,
  ];
  return execFileSync('kdig', args, { encoding: 'utf8' });
}

function transports(): void {
  for (const transport of ['+notcp', '+tcp', '+tls', '+https', '+https-get'])
    assert.ok(kdig(OTHER, transport).includes(TEXT), transport);
  process.stdout.write('dnsdist: an answer over UDP, TCP, DoT and DoH\n');
}

async function bound(address: string): Promise<UdpSocket> {
  const socket = createSocket('udp4');
  socket.bind(0, address);
  await once(socket, 'listening');
  return socket;
}

function question(id: number, cookie = ''): Buffer {
  const options = cookie === '' ? [] : [{ code: 10, data: Buffer.from(cookie, 'hex') }];
  const opt = { type: 'OPT', name: '.', udpPayloadSize: 1232, flags: 0, options };
  const message = {
    type: 'query',
    id,
    flags: 0,
    questions: [{ type: 'TXT', name: NAME }],
    additionals: [opt],
  };
  return packet.encode(message as Parameters<typeof packet.encode>[0]);
}

/** @returns the reply to one query over UDP through dnsdist */
async function ask(client: string, cookie = ''): Promise<Buffer> {
  const socket = await bound(client);
  const timer = setTimeout(() => socket.emit('error', new Error(`${client} got no reply`)), LIMIT_S * 1000);
  socket.send(question(7, cookie), 53, '127.0.0.1');
  try {
    const [reply] = (await once(socket, 'message')) as [Buffer];
    return reply;
  } finally {
    clearTimeout(timer);
    socket.close();
  }
}

async function equalAnswers(): Promise<void> {
  assert.deepEqual(await ask(FLOODER), await ask(OTHER), 'an answer depends on the client');
}

async function cookies(): Promise<void> {
  const cookieIn = (reply: Buffer): string => {
    const at = reply.toString('hex').indexOf(`000a0018${CLIENT_COOKIE}`);
    assert.ok(at > 0, 'no cookie');
    return reply.toString('hex').slice(at + 8, at + 56);
  };
  const own = cookieIn(await ask(OTHER, CLIENT_COOKIE));
  assert.equal(cookieIn(await ask(OTHER, own)), own, 'its own cookie is valid');
  const foreign = cookieIn(await ask(FLOODER, own));
  assert.notEqual(foreign, own, "another client's cookie is not");
  process.stdout.write('dnsdist: a cookie is valid for its client alone\n');
}

/** Sends evenly; a busy machine is late, and catches up. @returns whole answers */
async function asking(client: string, queries: number, paceMs: number): Promise<number> {
  const socket = await bound(client);
  let whole = 0;
  socket.on('message', (reply) => {
    if ((reply[2]! & TC) === 0) whole++;
  });
  const began = performance.now();
  for (let sent = 0; sent < queries; ) {
    const due = Math.min(queries, Math.floor((performance.now() - began) / paceMs) + 1);
    for (; sent < due; sent++) socket.send(question(sent), 53, '127.0.0.1');
    await sleep(2);
  }
  await sleep(1000);
  socket.close();
  return whole;
}

async function flood(): Promise<Figures> {
  const { perSecond, seconds } = FLOOD;
  const [flooder, quiet] = await Promise.all([
    asking(FLOODER, perSecond * seconds, 1000 / perSecond),
    asking(OTHER, QUIET.queries, QUIET.paceMs),
  ]);
  return { quiet, flooder };
}

/** The proxy's address without a header, and another address with one. */
async function refusals(): Promise<void> {
  const dig = (client: string, ...options: string[]): string =>
    spawnSync(
      'kdig',
      ['-b', client, '@127.0.0.1', '-p', '5300', NAME, 'TXT', '+timeout=1', '+retry=0', ...options],
      {
        encoding: 'utf8',
      },
    ).stdout;
  for (const transport of ['+notcp', '+tcp']) {
    assert.ok(dig('127.0.0.1', transport).includes(TEXT), 'from another address no header is needed');
    assert.ok(!dig(PROXY, transport).includes(TEXT), 'from that of the proxy one is');
  }
}

/** DoT and DoH with the header before TLS, with a checksum. */
async function behindHaproxy(): Promise<void> {
  if (spawnSync('haproxy', ['-v']).status !== 0) {
    process.stdout.write('skipped: haproxy is not installed (Debian: apt-get install haproxy)\n');
    return;
  }
  const listens = [
    ['dot', 9853, 8853],
    ['doh', 9443, 8443],
  ].map(
    ([name, from, to]) =>
      `listen ${name}\n  bind 127.0.0.1:${from}\n  server uqrp 127.0.0.1:${to} source ${PROXY} send-proxy-v2 proxy-v2-options crc32c\n`,
  );
  const timeouts = ['connect', 'client', 'server'].map((each) => `  timeout ${each} ${LIMIT_S}s\n`).join('');
  const path = join(folder, 'haproxy.cfg');
  writeFileSync(path, `global\n  maxconn 1000\ndefaults\n  mode tcp\n${timeouts}${listens.join('')}`);
  const proxy = spawn('haproxy', ['-db', '-f', path], { stdio: 'inherit' });
  const open: Socket[] = [];
  try {
    await accepts(9443);
    for (const [transport, port] of [
      ['+tls', '9853'],
      ['+https', '9443'],
    ] as const)
      assert.ok(kdig(OTHER, transport, '-p', port).includes(TEXT), transport);
    let refused = 0;
    for (let i = 0; i < LIMITS.tcpConnectionsPerAddress + 10; i++) {
      const options: ConnectionOptions & { localAddress: string } = {
        port: 9853,
        host: '127.0.0.1',
        localAddress: FLOODER,
        rejectUnauthorized: false,
      };
      const socket = connectTls(options);
      open.push(socket);
      await new Promise<void>((resolve) => {
        socket.on('error', () => socket.destroy());
        socket.once('close', resolve).once('secureConnect', resolve);
      });
      if (socket.destroyed) refused++;
    }
    assert.equal(refused, 10, 'one client had more connections than an address may have, or fewer');
    assert.ok(
      kdig(OTHER, '+tls', '-p', '9853').includes(TEXT),
      'a client paid for the connections of another one',
    );
    process.stdout.write(
      `haproxy: an answer over DoT and DoH; of one client ${refused} of ${open.length} connections were refused, another one was served\n`,
    );
  } finally {
    for (const socket of open) socket.destroy();
    await stop(proxy);
  }
}

async function accepts(port: number): Promise<void> {
  for (const until = Date.now() + LIMIT_S * 1000; ; await sleep(20)) {
    const socket = connect({ port, host: '127.0.0.1' });
    const connected = await new Promise<boolean>((resolve) => {
      socket.once('connect', () => resolve(true)).once('error', () => resolve(false));
    });
    socket.destroy();
    if (connected) return;
    if (Date.now() > until) throw new Error(`nothing listens on port ${port}`);
  }
}

/** Neither metrics nor log name a client. */
async function nothingTold({ ports }: Uqrp, log: () => string): Promise<void> {
  const metrics = await (await fetch(`http://127.0.0.1:${ports.http}/metrics`)).text();
  assert.match(metrics, /uqrp_/);
  for (const address of [FLOODER, OTHER, PROXY]) assert.ok(!(metrics + log()).includes(address), address);
}
