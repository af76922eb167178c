/**
 * Imports of a dataset beside a server: items a second, and the p99 of DNS answers during imports compared with quiet rounds, which
 * alternate. Every import is of a new version, and the previous one is retired after each round.
 *
 * `node bench/dataset-import.ts [ROUNDS] [ITEMS] [QUERIES A SECOND]`
 */
import { spawn } from 'node:child_process';
import { createSocket, type Socket } from 'node:dgram';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { RRTYPE } from '../src/protocol/dns/codes.ts';
import { encodeQuery } from '../src/protocol/dns/message/message.ts';
import { nameFromText } from '../src/protocol/dns/name.ts';
import {
  DatasetWorld,
  itemKey,
  type PublishedVersion,
  REGISTRY_ENV,
} from '../test/support/cli/dataset-world.ts';
import { cpuSeconds } from '../test/support/process.ts';
import { startUqrp, type Uqrp } from '../test/support/server-process.ts';
import { median, print, quantile, row } from './lib/figures.ts';

const ROUNDS = Number(process.argv[2] ?? 3);
const ITEMS = Number(process.argv[3] ?? 100_000);
const RATE = Number(process.argv[4] ?? 500);
/** The 16 bits of a message id; no query waits so long that its id comes again. */
const IDS = 65_536;
const CLI = fileURLToPath(new URL('../src/cli.ts', import.meta.url));

interface Imported {
  readonly seconds: number;
  /** From the start of the command to the first answer of the new version. */
  readonly untilServed: number;
}

/** Latencies in milliseconds of paced questions about items, while `run` lasts. */
async function measured<T>(
  port: number,
  run: () => Promise<T>,
): Promise<{ times: number[]; lost: number; result: T }> {
  const socket: Socket = createSocket('udp4');
  socket.connect(port, '127.0.0.1');
  await once(socket, 'connect');
  const sent = new Map<number, number>();
  const times: number[] = [];
  socket.on('message', (reply) => {
    const id = reply.readUInt16BE(0);
    const at = sent.get(id);
    if (at === undefined) return;
    sent.delete(id);
    times.push(performance.now() - at);
  });
  let isOver = false;
  const load = (async () => {
    const began = performance.now();
    for (let asked = 0; !isOver; await sleep(1)) {
      // Sent evenly: questions of a burst would wait for each other.
      for (const due = ((performance.now() - began) * RATE) / 1000; asked < due; asked++) {
        sent.set(asked % IDS, performance.now());
        socket.send(question(asked % IDS, Math.floor(Math.random() * ITEMS)));
      }
    }
    await sleep(500);
  })();
  const result = await run().finally(() => {
    isOver = true;
  });
  await load;
  socket.close();
  return { times, lost: sent.size, result };
}

function question(id: number, item: number): Uint8Array {
  const name = nameFromText(`identity.serial-k-${itemKey(item)}.datasets.public.v1.uqrp.net`)!;
  return encodeQuery(name, RRTYPE.TXT, { id, rd: false, edns: { payload: 1232, dnssecOk: false } });
}

async function importOf(server: Uqrp, world: DatasetWorld, made: PublishedVersion): Promise<Imported> {
  const began = performance.now();
  const child = spawn(process.execPath, [CLI, 'dataset', 'import', made.signed, '--items', made.items], {
    env: { ...process.env, UQRP_DATA_DIR: server.dataDir },
    stdio: ['ignore', 'ignore', 'inherit'],
  });
  const [code] = await once(child, 'exit');
  if (code !== 0) throw new Error(`the import ended with ${code}`);
  const seconds = (performance.now() - began) / 1000;
  while ((await world.manifest(server))?.version !== made.version) await sleep(20);
  return { seconds, untilServed: (performance.now() - began) / 1000 };
}

const folder = mkdtempSync(join(tmpdir(), 'uqrp-bench-'));
const server = await startUqrp(REGISTRY_ENV);
try {
  const world = new DatasetWorld(server.dataDir, folder, ITEMS);
  let minor = 0;
  const next = () => world.publish(`1.${minor++}.0`);
  const first = next();
  await importOf(server, world, first);
  // The first questions find cold code and an unread view.
  await measured(server.ports.dns, () => sleep(2000));
  const rates: number[] = [];
  const served: number[] = [];
  const p99 = { quiet: [] as number[], importing: [] as number[] };
  const p50 = { quiet: [] as number[], importing: [] as number[] };
  const micros: number[] = [];
  let lost = 0;
  for (let round = 0; round < ROUNDS; round++) {
    const made = next();
    let seconds = 5;
    for (const kind of round % 2 === 0
      ? (['quiet', 'importing'] as const)
      : (['importing', 'quiet'] as const)) {
      const before = cpuSeconds(server.pid);
      const {
        times,
        lost: missed,
        result,
      } = await measured(server.ports.dns, async () => {
        if (kind === 'importing') return await importOf(server, world, made);
        await sleep(seconds * 1000);
        return null;
      });
      lost += missed;
      print(
        `round ${round + 1} ${kind}: ${times.length} answers, p99 ${quantile(times, 0.99).toFixed(2)} ms`,
      );
      p99[kind].push(quantile(times, 0.99));
      p50[kind].push(quantile(times, 0.5));
      if (result === null) continue;
      micros.push(((cpuSeconds(server.pid) - before) / ITEMS) * 1e6);
      rates.push(ITEMS / result.seconds);
      served.push(result.untilServed);
      seconds = result.untilServed;
    }
    server.cli(['dataset', 'retire', `serial@1.${minor - 2}.0`]);
    // The edge deletes the items of the retired version: not part of a quiet round.
    await sleep(3000);
  }
  const cell = (values: readonly number[], digits = 2) => median(values).toFixed(digits);
  print(
    `${ROUNDS} rounds, ${ITEMS} items of 2 windows, ${RATE} questions a second, ${lost} without an answer`,
  );
  print(
    row([
      'import, items/s',
      cell(rates, 0),
      `${Math.min(...rates).toFixed(0)}`,
      `${Math.max(...rates).toFixed(0)}`,
      'limit 20000',
    ]),
  );
  print(row(['seconds until served', cell(served)]));
  print(row(['server CPU us/item', cell(micros)]));
  print(row(['DNS p50 quiet, ms', cell(p50.quiet, 3)]));
  print(row(['DNS p50 importing, ms', cell(p50.importing, 3)]));
  print(row(['DNS p99 quiet, ms', cell(p99.quiet, 3)]));
  print(row(['DNS p99 importing, ms', cell(p99.importing, 3)]));
  const ratios = p99.importing.map((value, i) => value / p99.quiet[i]!);
  print(
    row([
      'p99 ratio',
      cell(ratios),
      Math.min(...ratios).toFixed(2),
      Math.max(...ratios).toFixed(2),
      'limit 2',
    ]),
  );
} finally {
  await server.remove();
  rmSync(folder, { recursive: true, force: true });
}
