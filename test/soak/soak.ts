/**
 * Mixed load over every transport, with writes and mutated packets. Exit code 1 on a crash, a wrong answer, or growth
 * of the process's own memory after warm-up.
 *
 *   node test/soak/soak.ts [MINUTES [PLOT.svg]]
 */

import { createSocket } from 'node:dgram';
import { writeFileSync } from 'node:fs';
import type { ClientTransport } from '../../src/process/dns-client.ts';
import { read } from '../e2e/client.ts';
import { residentMegabytes } from '../support/process.ts';
import { corpus, mutate, seededRng } from '../support/protocol/dns/fuzz.ts';
import { type Account, account, startUqrp, writeRecords } from '../support/server-process.ts';
import { fillPacketCaches } from './fill-caches.ts';
import { plotOf, type Sample, slopeOf } from './memory.ts';

const MINUTES = Number(process.argv[2] ?? 10);
const RECORDS = 2000;
/** Share of the run that is warm-up. */
const WARM = 0.4;
/** Allowed growth of the peak after warm-up, MB: garbage collection varies by tens of MB, more in a short run. */
const SWING = MINUTES >= 10 ? 128 : 192;
/** Minutes from which the slope is checked: garbage collection hides it in shorter runs. */
const SLOPE_MINUTES = 30;
/** Maximum slope, MB per minute. */
const SLOPE_MAX = 1;
/**
 * Fills the packet caches of two workers, 54,000 replies each, before the run: else the slope shows caches that
 * fill.
 */
const CACHE_NAMES = 200_000;
const TRANSPORTS: readonly ClientTransport[] = ['udp', 'tcp', 'dot', 'doh'];
const FUZZ_EVERY_MS = 10;
const FUZZ_AT_ONCE = 20;

const server = await startUqrp();
const customer = account(server);
await customer.call('POST', '/namespaces', { namespace: { name: 'soak' } });
server.cli(['namespace', 'public-read', 'soak', 'on']);
await writeRecords(
  customer,
  Array.from({ length: RECORDS }, (_, i) => ({ key: `r${i}.soak.v1`, data: base64(`value ${i}`) })),
);

const filledFrom = Date.now();
const filled = await fillPacketCaches(server.ports.dns, 'soak.v1.uqrp.net', CACHE_NAMES);
if (filled < CACHE_NAMES * 1.9) throw new Error(`only ${filled} replies came while the caches were filled`);
print(`packet caches filled in ${Math.round((Date.now() - filledFrom) / 1000)} s`);

const endsAt = Date.now() + MINUTES * 60_000;
const counts = { asked: 0, written: 0, fuzzed: 0 };
let isRunning = true;
let failure: Error | null = null;
const beganAt = Date.now();
const memory: Sample[] = [];

server.child.once('exit', (code) => {
  if (isRunning) failure = new Error(`the server ended with ${code}`);
});

const loops = [...TRANSPORTS.map((transport) => askOn(transport)), writeOn(customer), fuzzOn(), watch()];
await Promise.all(
  loops.map((loop) =>
    loop.catch((error: unknown) => {
      failure ??= error as Error;
    }),
  ),
);
isRunning = false;
await server.remove();

const warm = memory.slice(Math.floor(memory.length * WARM));
const sizes = warm.map(({ megabytes }) => megabytes);
const half = Math.floor(sizes.length / 2);
const growth = Math.max(...sizes.slice(half)) - Math.max(...sizes.slice(0, half));
const slope = slopeOf(warm);
print(
  `${MINUTES} minutes: ${counts.asked} questions, ${counts.written} writes, ${counts.fuzzed} mutated packets; ` +
    `own memory ${Math.round(Math.min(...sizes))} to ${Math.round(Math.max(...sizes))} MB, ` +
    `growth of the peak ${growth.toFixed(1)} MB, slope ${slope.toFixed(2)} MB a minute`,
);
const plotFile = process.argv[3];
if (plotFile !== undefined) writeFileSync(plotFile, plotOf(memory, warm[0]!.minutes));
if (failure !== null) throw failure;
if (growth > SWING) throw new Error(`memory grew by ${growth.toFixed(1)} MB`);
if (MINUTES >= SLOPE_MINUTES && slope > SLOPE_MAX) {
  throw new Error(`memory grows by ${slope.toFixed(2)} MB a minute`);
}

async function askOn(transport: ClientTransport): Promise<void> {
  const rng = seededRng(transport.length);
  while (isOn()) {
    const i = rng(RECORDS);
    const there = await read(server, `get.r${i}.soak.v1`, transport);
    if (there.payload !== `value ${i}`) throw new Error(`${transport}: a wrong answer`);
    const missing = await read(server, `get.x${rng(1_000_000)}.soak.v1`, transport);
    if (missing.rcode !== 'NOERROR' || missing.payload !== null)
      throw new Error(`${transport}: a wrong denial`);
    const refused = await read(server, `get.r${i}.nobody.v1`, transport);
    if (refused.rcode !== 'REFUSED') throw new Error(`${transport}: a wrong refusal`);
    counts.asked += 3;
  }
}

async function writeOn(as: Account): Promise<void> {
  for (let i = 0; isOn(); i++) {
    const key = `w${i % 500}.soak.v1`;
    const { status } = await as.call('POST', '/records/bulk', {
      records: [{ key, data: base64(`write ${i}`) }],
    });
    if (status !== 200) throw new Error(`a write was answered ${status}`);
    counts.written++;
    await pause(5);
  }
}

async function fuzzOn(): Promise<void> {
  const rng = seededRng(1);
  const seeds = corpus();
  const socket = createSocket('udp4');
  socket.on('error', () => {});
  while (isOn()) {
    for (let i = 0; i < FUZZ_AT_ONCE; i++) {
      socket.send(mutate(seeds[rng(seeds.length)]!, rng), server.ports.dns, '127.0.0.1');
    }
    counts.fuzzed += FUZZ_AT_ONCE;
    await pause(FUZZ_EVERY_MS);
  }
  socket.close();
}

async function watch(): Promise<void> {
  while (isOn()) {
    const megabytes = residentMegabytes(server.pid).anon;
    memory.push({ minutes: (Date.now() - beganAt) / 60_000, megabytes });
    await pause(1000);
  }
}

function isOn(): boolean {
  return failure === null && Date.now() < endsAt;
}

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}

function base64(text: string): string {
  return Buffer.from(text).toString('base64');
}

function print(line: string): void {
  process.stdout.write(`${line}\n`);
}
