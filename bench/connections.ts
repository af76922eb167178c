/**
 * Memory of idle connections: opens N over DoT and DoH from a process of its own, asks one question on each, and reads the
 * server's resident memory before, with all of them open, and after they closed. Ours, BIND, and the checkout of a path alternate.
 *
 *   node bench/connections.ts [connections] [rounds] [dot,doh] [path of another checkout]
 */
import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { requirePrograms } from '../test/support/process.ts';
import type { Uqrp } from '../test/support/server-process.ts';
import { waitFor } from './lib/compare.ts';
import { FIRST_NAME, startFilled, ZONE, zoneText } from './lib/dataset.ts';
import { median, print, row } from './lib/figures.ts';
import type { Peer } from './lib/peers.ts';
import { signZone, startSecureBind } from './lib/signed-peers.ts';

const CONNECTIONS = Number(process.argv[2] ?? 4096);
const ROUNDS = Number(process.argv[3] ?? 3);
const PARTS = process.argv[4]?.split(',') ?? ['dot', 'doh'];
const OTHER = process.argv[5];
/** Connections that come before the measured ones: code is compiled and pools exist then. */
const FIRST = 200;
/** Milliseconds from the last question to the reading, less than an idle connection lives on a crowded listener. */
const SETTLE_MS = 800;
const CLOSED_MS = 3000;
const BIND_PORT = 5431;
const MIB = 1024;
const CLIENT = fileURLToPath(new URL('./lib/connection-client.ts', import.meta.url));

interface Server {
  readonly name: string;
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
  const [count] = (await once(client, 'message')) as [number];
  return count;
}

const running = (server: Uqrp): Running => ({
  pid: server.pid,
  ports: server.ports,
  remove: () => server.remove(),
});

requirePrograms({ named: 'bind9', dig: 'bind9-dnsutils' });
const env = { UQRP_DNS_RATE: '0' };
const signed = signZone(ZONE, zoneText());
const servers: Server[] = [{ name: 'uqrp', start: async () => running(await startFilled(env)) }];
if (OTHER !== undefined) {
  const other = (await import(join(OTHER, 'bench/lib/dataset.ts'))) as { startFilled: typeof startFilled };
  servers.push({ name: 'other checkout', start: async () => running(await other.startFilled(env)) });
}
servers.push({ name: 'BIND', start: startBind });

async function startBind(): Promise<Running> {
  const files = await startFilled(env);
  const read = (file: string): string => readFileSync(join(files.dataDir, 'tls', file), 'utf8');
  const tls = { cert: read('cert.pem'), key: read('key.pem') };
  await files.remove();
  const bind: Peer = startSecureBind(ZONE, signed, BIND_PORT, tls, CONNECTIONS + FIRST);
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
  const each = new Map<string, number[]>(servers.map(({ name }) => [name, []]));
  for (let round = 0; round < ROUNDS; round++) {
    for (const { name, start } of round % 2 === 0 ? servers : servers.toReversed()) {
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
