/**
 * Memory of idle connections: opens N over DoT and DoH from a process of its own, asks one question on each, and reads the
 * server's resident memory before, with all of them open, and after they closed. Ours, BIND, and the checkout of a path alternate.
 * Ours has a longer idle time, so that it closes none while others are opened. Over DoT a bare TLS server of Node runs too: the floor.
 *
 *   node bench/connections.ts [connections] [rounds] [dot,doh] [path of another checkout]
 */
import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { requirePrograms, start, stop } from '../test/support/process.ts';
import { startUqrp, type Uqrp } from '../test/support/server-process.ts';
import { ROOT, withLongIdle } from './lib/changed-server.ts';
import { waitFor } from './lib/compare.ts';
import { FIRST_NAME, startFilled, ZONE, zoneText } from './lib/dataset.ts';
import { median, print, row } from './lib/figures.ts';
import { signZone, startBind } from './lib/peers.ts';

const CONNECTIONS = Number(process.argv[2] ?? 4096);
const ROUNDS = Number(process.argv[3] ?? 3);
const PARTS = process.argv[4]?.split(',') ?? ['dot', 'doh'];
const OTHER = process.argv[5];
/** Connections that come before the measured ones: code is compiled and pools exist then. */
const FIRST = 200;
/** Milliseconds from the last answer to the reading. */
const SETTLE_MS = 800;
const CLOSED_MS = 3000;
const BIND_PORT = 5431;
const MIB = 1024;
const CLIENT = fileURLToPath(new URL('./lib/connection-client.ts', import.meta.url));
const BARE = fileURLToPath(new URL('./lib/bare-tls-server.ts', import.meta.url));

interface Server {
  readonly name: string;
  readonly parts: readonly string[];
  /** A new process of the server: memory of an earlier round would hide that of the next one. */
  readonly start: () => Promise<Running>;
}

interface Running {
  readonly pid: number;
  readonly ports: { readonly dot: number; readonly doh: number };
  remove(): Promise<void>;
}

/** Anonymous resident memory, KiB: that of the process itself, without mapped files. */
function memoryOf(pid: number): number {
  return Number(/RssAnon:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]);
}

/** @returns KiB before, with all connections open, after they closed; and how many were open */
async function measure(port: number, pid: number, part: string): Promise<[number, number, number, number]> {
  const client = fork(CLIENT, [String(port), part, FIRST_NAME]);
  try {
    await tell(client, { open: FIRST });
    await tell(client, { close: true });
    await sleep(SETTLE_MS);
    const before = memoryOf(pid);
    const open = await tell(client, { open: CONNECTIONS });
    await sleep(SETTLE_MS);
    const during = memoryOf(pid);
    const stillOpen = Math.min(open, await tell(client, { count: true }));
    await tell(client, { close: true });
    await sleep(CLOSED_MS);
    return [before, during, memoryOf(pid), stillOpen];
  } finally {
    client.kill();
  }
}

async function tell(client: ChildProcess, message: object): Promise<number> {
  client.send(message);
  const ended = once(client, 'exit').then(() => [0]);
  const [count] = (await Promise.race([once(client, 'message'), ended])) as [number];
  return count;
}

const running = (server: Uqrp): Running => ({
  pid: server.pid,
  ports: server.ports,
  remove: () => server.remove(),
});

requirePrograms({ named: 'bind9', dig: 'bind9-dnsutils' });
const BOTH = ['dot', 'doh'];
const envOf = (root: string): NodeJS.ProcessEnv => ({ UQRP_DNS_RATE: '0', ...withLongIdle(root) });
const signed = signZone(ZONE, zoneText());
const certificate = await makeCertificate();
const servers: Server[] = [
  { name: 'uqrp', parts: BOTH, start: async () => running(await startFilled(envOf(ROOT))) },
];
if (OTHER !== undefined) {
  const other = (await import(join(OTHER, 'bench/lib/dataset.ts'))) as { startFilled: typeof startFilled };
  servers.push({
    name: 'other checkout',
    parts: BOTH,
    start: async () => running(await other.startFilled(envOf(OTHER))),
  });
}
servers.push(
  { name: 'bare TLS of Node', parts: ['dot'], start: startBare },
  { name: 'BIND', parts: BOTH, start: startPeer },
);

/** A certificate as our server makes it. */
async function makeCertificate(): Promise<{ cert: string; key: string }> {
  const server = await startUqrp();
  const read = (file: string): string => readFileSync(join(server.dataDir, 'tls', file), 'utf8');
  const tls = { cert: read('cert.pem'), key: read('key.pem') };
  await server.remove();
  return tls;
}

async function startBare(): Promise<Running> {
  const dir = mkdtempSync(join(tmpdir(), 'uqrp-bare-'));
  for (const [file, text] of Object.entries(certificate)) writeFileSync(join(dir, file), text);
  const child = start(process.execPath, [
    '--max-semi-space-size=8',
    BARE,
    join(dir, 'cert'),
    join(dir, 'key'),
  ]);
  const [port] = (await once(child.stdout!, 'data')) as [Buffer];
  return {
    pid: child.pid!,
    ports: { dot: Number(port), doh: 0 },
    async remove() {
      await stop(child);
      rmSync(dir, { recursive: true });
    },
  };
}

async function startPeer(): Promise<Running> {
  const bind = startBind(ZONE, signed, BIND_PORT, certificate, CONNECTIONS + FIRST);
  await waitFor({ name: 'BIND', port: BIND_PORT, pid: bind.child.pid! }, FIRST_NAME);
  return {
    pid: bind.child.pid!,
    ports: { dot: BIND_PORT + 1, doh: BIND_PORT + 2 },
    remove: () => bind.remove(),
  };
}

for (const part of PARTS) {
  print('');
  print(row([`${CONNECTIONS} over ${part}`, 'before MiB', 'open MiB', 'closed MiB', 'KiB each', 'open']));
  const measured = servers.filter(({ parts }) => parts.includes(part));
  const each = new Map<string, number[]>(measured.map(({ name }) => [name, []]));
  for (let round = 0; round < ROUNDS; round++) {
    for (const { name, start } of round % 2 === 0 ? measured : measured.toReversed()) {
      const server = await start();
      try {
        const [before, during, after, open] = await measure(
          part === 'dot' ? server.ports.dot : server.ports.doh,
          server.pid,
          part,
        );
        if (open < CONNECTIONS) {
          print(
            `${name}: only ${open} of ${CONNECTIONS} were open when memory was read, so the round says nothing`,
          );
          continue;
        }
        const perConnection = (during - before) / open;
        each.get(name)!.push(perConnection);
        print(row([name, before / MIB, during / MIB, after / MIB, perConnection, String(open)]));
      } finally {
        await server.remove();
      }
    }
  }
  for (const [name, all] of each)
    if (all.length > 0) print(`${name}: median ${median(all).toFixed(1)} KiB a connection`);
}
