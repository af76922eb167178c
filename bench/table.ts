/**
 * The table of targets in docs/BENCHMARKS.md: CPU per answered query, ours against peers and against another checkout of this repository.
 *
 *   node bench/table.ts [rounds] [parts] [--seconds S] [--against DIR] [--save FILE]
 *
 * Parts, separated by commas: hot, hot-plain, unique, denial, cold, dot, doh, doh-single, workers, flood, floor. `cold` and `flood`
 * need `--against`, the directory of a checkout with its node_modules; it takes part in the others too. `--save` keeps the rows in a file, and the table
 * has those of earlier runs, so that parts can be measured one by one.
 */

import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { requirePrograms } from '../test/support/process.ts';
import { print } from './lib/figures.ts';
import type { Part, Row } from './lib/part.ts';
import { openWorld, type RunOptions } from './lib/world.ts';
import { cold, floor, hotPlain, hotSigned, workers } from './parts/hosted.ts';
import { denial, flood, unique } from './parts/misses.ts';
import { doh, dohSingle, dot } from './parts/streams.ts';

const PROGRAMS = {
  cc: 'gcc',
  named: 'bind9',
  nsd: 'nsd',
  knotd: 'knot',
  pdns_server: 'pdns-server pdns-backend-lmdb',
  dnsperf: 'dnsperf',
  h2load: 'nghttp2-client',
  dig: 'bind9-dnsutils',
};

const PARTS = [hotSigned, denial, cold, dot, doh, workers, flood, hotPlain, unique, dohSingle, floor];

const { positionals, values } = parseArgs({
  allowPositionals: true,
  options: { seconds: { type: 'string' }, against: { type: 'string' }, save: { type: 'string' } },
});
const [rounds = '3', names = PARTS.map(({ name }) => name).join(',')] = positionals;
const chosen = names.split(',').map((name) => {
  const part = PARTS.find((one) => one.name === name);
  if (part === undefined)
    throw new Error(`no part ${name}: there are ${PARTS.map((one) => one.name).join(', ')}`);
  return part;
});
const options = {
  rounds: Number(rounds),
  seconds: Number(values.seconds ?? 3),
  against: values.against ?? null,
};
const { save } = values;
let kept: readonly Row[] = [];
const rows = await runParts(chosen, options, (own) => {
  if (save !== undefined) kept = saveRows(save, own);
});
print(`\n${tableOf(save === undefined ? rows : kept)}`);

/** Runs the parts one after the other. @param keep is called with the rows of each part: a run that is interrupted keeps them */
async function runParts(
  parts: readonly Part[],
  options: RunOptions,
  keep: (rows: readonly Row[]) => unknown,
): Promise<readonly Row[]> {
  requirePrograms(PROGRAMS);
  const others = options.against === null ? '' : `, against ${options.against}`;
  print(`${options.rounds} rounds of ${options.seconds} s, one worker each${others}`);
  const world = openWorld(options);
  const rows: Row[] = [];
  try {
    for (const part of parts) {
      const own = await part.run(world);
      keep(own);
      rows.push(...own);
    }
  } finally {
    await world.remove();
  }
  return rows;
}

/** Puts rows into a file of rows, in the place of older ones of the same parts. @returns all rows of the file */
function saveRows(file: string, rows: readonly Row[]): readonly Row[] {
  const before = existsSync(file) ? (JSON.parse(readFileSync(file, 'utf8')) as Row[]) : [];
  const parts = new Set(rows.map(({ part }) => part));
  const all = [...before.filter(({ part }) => !parts.has(part)), ...rows];
  writeFileSync(file, JSON.stringify(all));
  return all;
}

function figure(value: number): string {
  return value.toPrecision(3);
}

/** The table in Markdown. */
function tableOf(rows: readonly Row[]): string {
  const lines = rows.map(({ what, peer, micros, peerMicros, ratio, target, hits, generator }) => {
    const range = `${ratio.middle.toFixed(2)} (${ratio.least.toFixed(2)} to ${ratio.most.toFixed(2)})`;
    const outcome = target === null ? '' : ratio.middle <= target ? 'met' : '**missed**';
    const cells = [
      what,
      `${figure(micros)} us`,
      `${peer} ${figure(peerMicros)} us`,
      range,
      target === null ? '' : `<= ${target}`,
      outcome,
      hits === null ? '' : `${(hits * 100).toFixed(1)} %`,
      `${Math.round(generator * 100)} %`,
    ];
    return `| ${cells.join(' | ')} |`;
  });
  const head =
    '| what | CPU a query | compared with | ratio (least to most) | target | | cache hits | load generator |';
  return [head, '|---|---|---|---|---|---|---|---|', ...lines].join('\n');
}
