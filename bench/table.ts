/**
 * The table of targets in docs/BENCHMARKS.md: CPU per answered query, ours against peers and against another checkout of this repository.
 *
 *   node bench/table.ts [rounds] [parts] [--seconds S] [--against DIR] [--save FILE]
 *
 * Parts, separated by commas: hot, hot-plain, unique, denial, denial-paced, cold, dot, doh, doh-single, workers, flood. `cold` and `flood`
 * need `--against`, the directory of a checkout with its node_modules; it takes part in the others too. `--save` keeps the rows in a file, and the table
 * has those of earlier runs, so that parts can be measured one by one.
 */
import { parseArgs } from 'node:util';
import { print } from './lib/figures.ts';
import type { Row } from './lib/part.ts';
import { runParts, saveRows, tableOf } from './lib/run-parts.ts';
import { cold } from './parts/cold.ts';
import { hotPlain, hotSigned } from './parts/hot.ts';
import { denial, denialPaced, flood, unique } from './parts/misses.ts';
import { doh, dohSingle, dot } from './parts/streams.ts';
import { workers } from './parts/workers.ts';

const PARTS = [hotSigned, denial, cold, dot, doh, workers, flood, hotPlain, unique, denialPaced, dohSingle];

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
