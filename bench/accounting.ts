/**
 * What usage and query log cost: CPU per answered query over UDP, of one server with both and one without, with the same
 * 10,000 private records of 100 bytes, asked with their token.
 *
 *   hot     names that exist, each asked repeatedly: answered from the packet cache, metered, recorded
 *   unique  names that do not exist, each asked once: past the packet cache, recorded
 *   paced   names that exist, at a rate whose rows are all kept
 *
 * Two servers of each kind run at once, since two processes of the same program differ by several percent. A round loads each in turn,
 * the next one in the reverse order; its ratio is that of the sums of both kinds. The ratios of the equal servers tell what such a
 * ratio is worth. Each generation starts four new processes. CPU is the whole process, database included.
 *
 * `node bench/accounting.ts [rounds] [seconds] [generations]`
 */
import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { requirePrograms } from '../test/support/process.ts';
import { startUqrp } from '../test/support/server-process.ts';
import { compare, microsOf, type Samples, type Target, waitFor } from './lib/compare.ts';
import { fill, hotFile, uniqueFile } from './lib/dataset.ts';
import { median, print, row } from './lib/figures.ts';
import { dnsperf, type Load } from './lib/load.ts';

const ROUNDS = Number(process.argv[2] ?? 5);
const SECONDS = process.argv[3] ?? '4';
const GENERATIONS = Number(process.argv[4] ?? 2);
const UNIQUE = 400_000;
const WARM_UP_SECONDS = 8;
/** Queries a second, below `queryLogRowsPerSecond` and one namespace's half of it. */
const PACE = '900';
const LIMIT = '1.05';
const UNCOUNTED = fileURLToPath(new URL('./lib/uncounted-server.ts', import.meta.url));

interface Side extends Target {
  readonly dataDir: string;
  readonly prefix: string;
  remove(): Promise<void>;
}

async function open(name: string, program?: string[]): Promise<Side> {
  const dataDir = mkdtempSync(join(tmpdir(), 'uqrp-bench-'));
  const server = await startUqrp({ UQRP_WORKERS: '1' }, dataDir, [], program);
  const prefix = await fill(server);
  return { name, port: server.ports.dns, pid: server.pid, dataDir, prefix, remove: () => server.remove() };
}

type Ratio = 'on : off' | 'on : on' | 'off : off';
const RATIOS: readonly Ratio[] = ['on : off', 'on : on', 'off : off'];
const ratios = new Map<string, Map<Ratio, number[]>>();

function keep(load: string, samples: Samples): void {
  const of = ratios.get(load) ?? new Map(RATIOS.map((ratio) => [ratio, []]));
  ratios.set(load, of);
  const roundsOf = (name: string): Rounds => microsOf(samples, name);
  const [on, onToo, off, offToo] = [
    roundsOf(NAMES[0]),
    roundsOf(NAMES[1]),
    roundsOf(NAMES[2]),
    roundsOf(NAMES[3]),
  ];
  for (let round = 0; round < ROUNDS; round++) {
    const [a, b, c, d] = [on[round]!, onToo[round]!, off[round]!, offToo[round]!];
    of.get('on : off')!.push((a + b) / (c + d));
    of.get('on : on')!.push(a / b);
    of.get('off : off')!.push(c / d);
  }
}

type Rounds = readonly number[];
const NAMES = ['counted', 'counted too', 'uncounted', 'uncounted too'] as const;

async function generation(): Promise<void> {
  const sides: Side[] = [];
  try {
    // Neighbours in the order of a round are of different kinds.
    for (const name of [NAMES[0], NAMES[2], NAMES[1], NAMES[3]]) {
      sides.push(await open(name, name.startsWith('un') ? [UNCOUNTED] : undefined));
    }
    const sideOf = ({ name }: Target): Side => sides.find((side) => side.name === name)!;
    for (const side of sides) await waitFor(side, `${side.prefix}.r0.bench.v1.uqrp.net`);
    const files = new Map(sides.map(({ name, dataDir, prefix }) => [name, hotFile(dataDir, prefix)]));
    const loads: Readonly<Record<string, (target: Target) => Load>> = {
      hot: (target) => dnsperf(target.port, files.get(target.name)!, ['-e', '-l', SECONDS]),
      unique(target) {
        const { dataDir, prefix } = sideOf(target);
        // One pass over the file: a second pass would find the names in the cache.
        return dnsperf(target.port, uniqueFile(dataDir, UNIQUE, prefix), ['-e', '-n', '1', '-l', SECONDS]);
      },
      paced: (target) => dnsperf(target.port, files.get(target.name)!, ['-e', '-Q', PACE, '-l', SECONDS]),
    };
    for (const [what, load] of Object.entries(loads)) {
      keep(what, await compare(sides, { what, rounds: ROUNDS, warmUpSeconds: WARM_UP_SECONDS, load }));
    }
  } finally {
    for (const side of sides) await side.remove();
  }
}

requirePrograms({ dnsperf: 'dnsperf', dig: 'bind9-dnsutils' });
print(`${GENERATIONS} generations of ${ROUNDS} rounds of ${SECONDS} s, one worker each`);
for (let run = 0; run < GENERATIONS; run++) await generation();
print('');
print(row(['ratio of a round', 'median', 'least', 'most', 'limit']));
for (const [load, of] of ratios) {
  for (const [ratio, all] of of) {
    const limit = ratio === 'on : off' && load !== 'paced' ? LIMIT : '';
    print(row([`${load}, ${ratio}`, median(all), Math.min(...all), Math.max(...all), limit]));
  }
}
