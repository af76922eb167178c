/**
 * The cost of public services that get values from providers.
 *
 *   node bench/services.ts
 *
 * First, in process: CPU time of an answer from a cached reading, compared with a hosted record. Neither uses the
 * packet cache. Then a server under a flood of random coordinates: provider calls, and the p99 of a hosted record. It
 * is compared with no flood, and with a flood of hosted names that do not exist. On few cores the client's CPU adds to
 * the times.
 */
import { fork } from 'node:child_process';
import { createSocket, type Socket } from 'node:dgram';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { makePacketHandler } from '../src/dns/query/packet.ts';
import { makeZone, unsignedZone } from '../src/dns/query/zones.ts';
import { publish } from '../src/dns/schema/publish.ts';
import { nameFromText } from '../src/protocol/dns/name.ts';
import { openPlaces } from '../src/services/places/table.ts';
import { createFreshness } from '../src/view/freshness.ts';
import { openLmdbReader } from '../src/view/reader.ts';
import { openLmdbWriter } from '../src/view/writer.ts';
import { account, startUqrp } from '../test/support/server-process.ts';
import { allServices } from '../test/support/services/all-services.ts';
import { fakeProviders } from '../test/support/services/providers/fake-providers.ts';
import { median, print, quantile } from './lib/figures.ts';

const SECONDS = 2;
const ROUNDS = 5;
const ZONE = 'uqrp.net';
const FIXTURE = readFileSync(new URL('../test/fixtures/providers/openmeteo.json', import.meta.url));

function query(name: string, id = 1): Buffer {
  const head = Buffer.alloc(12);
  head.writeUInt16BE(id, 0);
  head[5] = 1;
  return Buffer.concat([head, nameFromText(`${name}.${ZONE}`)!, Buffer.of(0, 16, 0, 1)]);
}

async function inProcess(): Promise<void> {
  const directory = mkdtempSync(join(tmpdir(), 'uqrp-bench-'));
  const writer = openLmdbWriter({ path: join(directory, 'view') });
  const record = { key: 'temp.acme.v1', namespace: 'acme', resource: 'temp', version: 'v1' };
  await writer.apply(
    [
      {
        type: 'namespace.upserted',
        namespace: 'acme',
        id: '00000000-0000-4000-8000-000000000000',
        publicRead: true,
        suspended: false,
        recordsCount: 1,
        createdAt: 0,
        updatedAt: 0,
      },
      {
        type: 'record.upserted',
        ...record,
        data: Buffer.from('{"celsius":18.4}').toString('base64'),
        contentType: 'application/json',
        ttlSeconds: 300,
        expiresAt: null,
      },
    ],
    2,
  );
  const view = openLmdbReader({ path: join(directory, 'view') });
  const until = Date.now() + 3_600_000;
  const days = Array.from({ length: 3 }, () => ({
    date: '2026-01-01',
    high: 7.2,
    low: 2.1,
    code: 61,
    rain: 80,
  }));
  const reading = {
    kind: 'value',
    value: { celsius: 18.4, days },
    time: Date.now(),
    at: Date.now(),
    freshUntil: until,
    until,
  } as const;
  const services = allServices({ places: openPlaces(), providers: fakeProviders('meteo', reading) });
  const servers = [
    { label: 'ns1', addresses: ['192.0.2.1'] },
    { label: 'ns2', addresses: ['192.0.2.2'] },
  ];
  const handler = makePacketHandler({
    view,
    access: { sync: true, demo: false },
    services: publish(services),
    zones: [unsignedZone(makeZone(ZONE, servers))],
    identity: 'bench',
    freshness: createFreshness(),
    clock: Date.now,
  });
  const names = [
    'get.temp.acme.v1',
    'get.london.weather.public.v1',
    'get.51d5_-0d1.weather.public.v1',
    'get.london.forecast.public.v1',
  ];
  const times = new Map(names.map((name) => [name, [] as number[]]));
  for (let round = 0; round < 12; round++) {
    for (const name of round % 2 === 0 ? names : names.toReversed()) {
      const packet = query(name);
      const started = process.cpuUsage();
      for (let i = 0; i < 20_000; i++) {
        if (!(handler.slow(packet, 'udp', false) instanceof Uint8Array)) throw new Error('no answer at once');
      }
      const { user, system } = process.cpuUsage(started);
      if (round >= 2) times.get(name)!.push((user + system) / 20_000);
    }
  }
  const hosted = median(times.get(names[0]!)!);
  for (const [name, all] of times) {
    const own = median(all);
    print(`${name.padEnd(34)} ${own.toFixed(2)} µs, ${(own / hosted).toFixed(2)} x hosted`);
  }
  await view.close();
  await writer.close();
  rmSync(directory, { recursive: true, force: true });
}

/** Round trips of a hosted record, milliseconds; one query every 2 ms, one at a time. */
async function hostedTimes(port: number, seconds: number): Promise<number[]> {
  const socket = await connected(port);
  const times: number[] = [];
  const sent = new Map<number, number>();
  socket.on('message', (reply) => {
    const at = sent.get(reply.readUInt16BE(0));
    if (at !== undefined) times.push(performance.now() - at);
  });
  const end = performance.now() + seconds * 1000;
  for (let id = 0; performance.now() < end; id = (id + 1) & 0xffff) {
    sent.set(id, performance.now());
    // The packet cache answers every query, as for a popular record.
    socket.send(query('get.temp.acme.v1', id));
    await sleep(2);
  }
  await sleep(500);
  socket.close();
  if (times.length < sent.size * 0.99) throw new Error('answers were lost');
  return times;
}

/** Names of the flood: coordinates that are in no cache, or hosted names that do not exist. */
const FLOODS: Readonly<Record<string, () => string>> = {
  records: () => `get.r${Math.random().toString(36).slice(2)}.temp.acme.v1`,
  coordinates: () => `get.${degrees(90)}_${degrees(180)}.weather.public.v1`,
};

function degrees(max: number): string {
  return (Math.random() * 2 * max - max).toFixed(3).replace('.', 'd');
}

/** Runs in the child process. */
async function flood(kind: string, port: number, rate: number): Promise<void> {
  const sockets = await Promise.all(Array.from({ length: 8 }, () => connected(port)));
  const started = performance.now();
  for (let asked = 0; process.connected; ) {
    // Sent evenly: queries of a burst would wait for each other.
    for (const due = ((performance.now() - started) * rate) / 1000; asked < due; asked++) {
      sockets[asked % sockets.length]!.send(query(FLOODS[kind]!()));
    }
    await sleep(1);
  }
  for (const socket of sockets) socket.close();
}

async function flooded<T>(kind: string, port: number, rate: number, run: () => Promise<T>): Promise<T> {
  const child = fork(import.meta.filename, ['flood', kind, String(port), String(rate)]);
  await sleep(500);
  try {
    return await run();
  } finally {
    child.disconnect();
    await once(child, 'exit');
  }
}

async function connected(port: number): Promise<Socket> {
  const socket = createSocket('udp4');
  socket.connect(port, '127.0.0.1');
  await once(socket, 'connect');
  socket.on('error', () => {});
  return socket;
}

async function underFlood(): Promise<void> {
  const cells = new Map<string, number>();
  let calls = 0;
  const upstream = createServer((request, response) => {
    calls++;
    const cell = /latitude=[^&]+&longitude=[^&]+/.exec(request.url ?? '')?.[0] ?? '';
    cells.set(cell, (cells.get(cell) ?? 0) + 1);
    setTimeout(() => response.end(FIXTURE), 20);
  }).listen(0, '127.0.0.1');
  await once(upstream, 'listening');
  const origin = `http://127.0.0.1:${(upstream.address() as AddressInfo).port}`;
  const server = await startUqrp({ UQRP_OPENMETEO_URL: origin, UQRP_METNO_URL: 'off' });
  try {
    const customer = account(server);
    await customer.call('POST', '/namespaces', { namespace: { name: 'acme' } });
    const data = Buffer.from('{"celsius":18.4}').toString('base64');
    await customer.call('POST', '/records', { record: { key: 'temp.acme.v1', data } });
    server.cli(['namespace', 'public-read', 'acme', 'on']);
    await sleep(500);
    await hostedTimes(server.ports.dns, 1);
    const { dns } = server.ports;
    for (const rate of [1000, 3000]) {
      const p99s = new Map<string, number[]>(['quiet', ...Object.keys(FLOODS)].map((kind) => [kind, []]));
      for (let round = 0; round < ROUNDS; round++) {
        const kinds = round % 2 === 0 ? [...p99s.keys()] : [...p99s.keys()].toReversed();
        for (const kind of kinds) {
          const measure = () => hostedTimes(dns, SECONDS);
          const times = await (kind === 'quiet' ? measure() : flooded(kind, dns, rate, measure));
          p99s.get(kind)!.push(quantile(times, 0.99));
        }
      }
      const quiet = median(p99s.get('quiet')!);
      for (const [kind, all] of p99s) {
        const own = median(all);
        print(
          `${rate} q/s of ${kind.padEnd(12)} hosted p99 ${own.toFixed(2)} ms, ${(own / quiet).toFixed(2)} x quiet`,
        );
      }
    }
    print(`calls for one cell: at most ${Math.max(...cells.values())}`);
    print(`calls allowed: 270 at once and 4.5 a second, ${calls} made`);
  } finally {
    await server.remove();
    upstream.closeAllConnections();
    upstream.close();
  }
}

const [mode, kind = '', port, rate] = process.argv.slice(2);
if (mode === 'flood') {
  await flood(kind, Number(port), Number(rate));
} else {
  await inProcess();
  await underFlood();
}
