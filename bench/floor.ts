/**
 * How near a hot answer over UDP is to the least that it can cost: a program in C that sends each question back with as many octets more
 * as a signed answer has, beside ours and NSD, in turn. Needs cc.
 *
 *   node bench/floor.ts [rounds] [seconds]
 */
import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { compare, ratioOf } from './lib/compare.ts';
import { hotFile } from './lib/dataset.ts';
import { print, row } from './lib/figures.ts';
import { dnsperf, prime } from './lib/load.ts';
import { openWorld } from './lib/world.ts';

const PORT = 5441;
/** Octets of a signed answer beyond its question. */
const ANSWER_OCTETS = 480;
const WARM_UP_SECONDS = 4;

const [rounds = '5', seconds = '3'] = process.argv.slice(2);
const dir = mkdtempSync(join(tmpdir(), 'uqrp-echo-'));
const world = openWorld({ rounds: Number(rounds), seconds: Number(seconds), against: null });
let echo: ChildProcess | null = null;
try {
  const program = join(dir, 'udp-echo');
  execFileSync('cc', ['-O2', '-o', program, fileURLToPath(new URL('lib/udp-echo.c', import.meta.url))]);
  echo = spawn(program, [String(PORT), String(ANSWER_OCTETS)], { stdio: 'ignore' });
  await once(echo, 'spawn');
  const [ours] = await world.ours();
  const targets = [ours!, await world.nsd('signed'), { name: 'C echo', port: PORT, pid: echo.pid! }];
  const file = hotFile(ours!.server.dataDir);
  const samples = await compare(targets, {
    what: 'hot UDP, signed',
    rounds: world.rounds,
    warmUpSeconds: WARM_UP_SECONDS,
    prime: ({ port }) => prime(port, file, ['-D']),
    load: ({ port }) => dnsperf(port, file, ['-D', '-l', String(world.seconds)]),
  });
  print('');
  print(row(['to the C echo', 'ratio', 'least', 'most']));
  for (const name of ['uqrp', 'NSD']) {
    const { middle, least, most } = ratioOf(samples, name, 'C echo');
    print(row([name, middle, least, most]));
  }
} finally {
  echo?.kill();
  await world.remove();
  rmSync(dir, { recursive: true });
}
