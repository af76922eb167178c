/**
 * What more records cost: whole servers with 10^4, 10^5 and 10^6 records, side by side in one run.
 *
 *   node bench/growth.ts [sizes] [steps] [--dir DIR] [--rounds N] [--seconds S]
 *
 *   start     from the start of the process until it listens, with its view
 *   hot       CPU of a query over UDP for one of 10,000 names, answered from the packet cache
 *   cold      CPU of a query for a scattered name in a server whose packet cache keeps nothing
 *   memory    resident, own pages and pages of the view file apart
 *   copy      a compact copy of the view, as a snapshot of the feed is made from
 *
 * Steps, separated by commas: start, hot, cold, copy. `--dir` keeps the data: 10^7 records take 6 GB and some minutes, which
 * `node bench/growth.ts 10000000 none --dir DIR` spends alone.
 * Files are in the page cache of the kernel when they are measured.
 */
import { existsSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { openLmdbWriter } from '../src/view/writer.ts';
import { requirePrograms, residentMegabytes } from '../test/support/process.ts';
import { startUqrp, type Uqrp } from '../test/support/server-process.ts';
import { ROOT, withoutPacketCache } from './lib/changed-server.ts';
import { compare, microsOf, ratioOf, type Target, waitFor } from './lib/compare.ts';
import { median, print } from './lib/figures.ts';
import { buildView, fillStore, hotNames, megabytesOf, nameAt, scatteredNames } from './lib/growth-data.ts';
import { dnsperf, prime } from './lib/load.ts';

const STARTS = 2;
/** More than a server answers in one load. */
const COLD_NAMES = 200_000;
const WARM_UP = { hot: 4, cold: 8 };

const { positionals, values } = parseArgs({
  allowPositionals: true,
  options: {
    dir: { type: 'string' },
    rounds: { type: 'string', default: '3' },
    seconds: { type: 'string', default: '2' },
  },
});
const sizes = (positionals[0] ?? '10000,100000,1000000').split(',').map(Number);
const steps = (positionals[1] ?? 'start,hot,cold,copy').split(',');
const directory = values.dir ?? mkdtempSync(join(tmpdir(), 'uqrp-growth-'));

interface Side extends Target {
  readonly size: number;
  readonly server: Uqrp;
}

const secondsSince = (from: number): number => (performance.now() - from) / 1000;
const dirOf = (size: number): string => join(directory, String(size));
const viewOf = (size: number): string => {
  const view = join(dirOf(size), 'view');
  return join(view, readdirSync(view).find((file) => file.endsWith('.mdb'))!);
};

const lines = new Map<number, string[]>(sizes.map((size) => [size, []]));
const tell = (size: number, value: string): unknown => lines.get(size)!.push(value);

async function start(size: number, env: NodeJS.ProcessEnv = {}): Promise<Side> {
  const server = await startUqrp({ UQRP_WORKERS: '1', ...env }, dirOf(size));
  return {
    name: String(size),
    port: server.ports.dns,
    pid: server.pid,
    metricsPort: server.ports.http,
    size,
    server,
  };
}

/** Makes what is missing: the store, then the view. What was interrupted is made again. */
async function fill(size: number): Promise<void> {
  await once(size, 'store', async () => {
    rmSync(dirOf(size), { recursive: true, force: true });
    await fillStore(dirOf(size), size);
  });
  await once(size, 'view', async () => {
    rmSync(join(dirOf(size), 'view'), { recursive: true, force: true });
    await buildView(dirOf(size), size);
  });
}

async function once(size: number, what: string, make: () => Promise<void>): Promise<void> {
  const mark = join(dirOf(size), `${what}-made`);
  if (existsSync(mark)) return;
  const from = performance.now();
  await make();
  writeFileSync(mark, '');
  print(`${size}: ${what} made in ${secondsSince(from).toFixed(1)} s`);
}

async function measureStarts(): Promise<void> {
  for (const size of sizes) {
    const took: number[] = [];
    for (let i = 0; i < STARTS; i++) {
      const from = performance.now();
      const side = await start(size);
      took.push(secondsSince(from));
      await waitFor(side, nameAt(size - 1));
      await side.server.stop();
    }
    tell(size, `${median(took).toFixed(2)} s`);
    tell(size, `${megabytesOf(join(dirOf(size), 'uqrp.sqlite')).toFixed(0)} MB`);
    tell(size, `${megabytesOf(viewOf(size)).toFixed(0)} MB`);
  }
}

function tellMemory(sides: readonly Side[]): void {
  for (const { size, pid } of sides) {
    const { anon, file } = residentMegabytes(pid);
    tell(size, `${anon.toFixed(0)} + ${file.toFixed(0)} MB`);
  }
}

/** CPU of a query at each size, told beside the ratio to the least size. */
async function measureQueries(what: 'hot' | 'cold', sides: readonly Side[]): Promise<void> {
  const hot = new Map(sides.map((side) => [side, hotNames(side.server.dataDir, side.size)]));
  let asked = 0;
  const samples = await compare(sides, {
    what,
    rounds: Number(values.rounds),
    warmUpSeconds: WARM_UP[what],
    prime: (side) => what === 'hot' && prime(side.port, hot.get(side)!, ['-e']),
    load(side) {
      if (what === 'hot') return dnsperf(side.port, hot.get(side)!, ['-e', '-l', values.seconds]);
      asked += COLD_NAMES;
      const file = scatteredNames(side.server.dataDir, side.size, asked, COLD_NAMES);
      return dnsperf(side.port, file, ['-e', '-n', '1', '-l', values.seconds]);
    },
  });
  for (const { name, size } of sides) {
    const { middle, least, most } = ratioOf(samples, name, sides[0]!.name);
    const range = `${middle.toFixed(2)} x (${least.toFixed(2)} to ${most.toFixed(2)})`;
    tell(size, `${median(microsOf(samples, name)).toFixed(2)} us, ${range}`);
  }
}

async function measureCopies(): Promise<void> {
  for (const size of sizes) {
    const view = openLmdbWriter({ path: join(dirOf(size), 'view') });
    const to = join(directory, 'copy');
    const from = performance.now();
    const { file } = await view.copyTo(to);
    tell(size, `${secondsSince(from).toFixed(2)} s, ${megabytesOf(file).toFixed(0)} MB`);
    await view.close();
    rmSync(to, { recursive: true });
  }
}

async function measured(what: 'hot' | 'cold', env?: NodeJS.ProcessEnv): Promise<void> {
  const sides: Side[] = [];
  try {
    for (const size of sizes) sides.push(await start(size, env));
    tellMemory(sides);
    await measureQueries(what, sides);
    tellMemory(sides);
  } finally {
    for (const { server } of sides) await server.stop();
  }
}

requirePrograms({ dnsperf: 'dnsperf', dig: 'bind9-dnsutils' });
try {
  for (const size of sizes) await fill(size);
  if (steps.includes('start')) await measureStarts();
  if (steps.includes('hot')) await measured('hot');
  if (steps.includes('cold')) await measured('cold', withoutPacketCache(ROOT));
  if (steps.includes('copy')) await measureCopies();
  print('');
  for (const line of table()) print(line);
} finally {
  if (values.dir === undefined) rmSync(directory, { recursive: true, force: true });
}

function table(): string[] {
  const heads: Readonly<Record<string, readonly string[]>> = {
    start: ['start to ready', 'store', 'view'],
    hot: ['memory at ready, own + files', 'hot query, CPU', 'memory then'],
    cold: ['memory at ready without packet cache', 'cold query, CPU', 'memory then'],
    copy: ['copy of the view'],
  };
  const columns = [
    'records',
    ...Object.keys(heads).flatMap((step) => (steps.includes(step) ? heads[step]! : [])),
  ];
  const rows = sizes.map((size) => [size.toLocaleString('en'), ...lines.get(size)!]);
  return [columns, columns.map(() => '---'), ...rows].map((cells) => `| ${cells.join(' | ')} |`);
}
