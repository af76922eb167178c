import { compare, type Target } from '../lib/compare.ts';
import { uniqueFile } from '../lib/dataset.ts';
import { dnsperf } from '../lib/load.ts';
import { type Part, type Row, rowsOf } from '../lib/part.ts';
import type { World } from '../lib/world.ts';

const WARM_UP_SECONDS = 8;
/** Names in the file of one load, more than a server answers meanwhile. */
const UNSIGNED = 600_000;
const SIGNED = 100_000;

/** Names that do not exist, without DNSSEC. */
export const unique: Part = {
  name: 'unique',
  async run(world) {
    const targets = [...(await world.ours()), await world.bind('plain'), await world.nsd('plain')];
    const limits = { BIND: 2, NSD: null, before: null };
    return misses(world, { part: 'unique', what: 'unique names, no DO' }, targets, UNSIGNED, ['-e'], limits);
  },
};

/** Names that do not exist: each denial is signed when it is asked. At full speed, without the limit of fresh signatures. */
export const denial: Part = {
  name: 'denial',
  async run(world) {
    const targets = [...(await world.oursWithoutBudget()), await world.powerDns()];
    const row = { part: 'denial', what: 'unique denial signed online' };
    return misses(world, row, targets, SIGNED, ['-D'], { PowerDNS: 0.33, before: null });
  },
};

/** A flood of unique names with DO at full speed: most questions get TC, and that must stay cheap. */
export const flood: Part = {
  name: 'flood',
  async run(world) {
    if (world.against === null) return [];
    const row = { part: 'flood', what: 'flood of unique questions' };
    return misses(world, row, await world.ours(), UNSIGNED, ['-D'], { before: 1.05 });
  },
};

async function misses(
  world: World,
  row: { readonly part: string; readonly what: string },
  targets: readonly Target[],
  names: number,
  args: readonly string[],
  limits: Readonly<Record<string, number | null>>,
): Promise<readonly Row[]> {
  const { dataDir } = (await world.ours())[0]!.server;
  const samples = await compare(targets, {
    what: row.what,
    rounds: world.rounds,
    warmUpSeconds: WARM_UP_SECONDS,
    // New names at each call, asked once.
    load: ({ port }) =>
      dnsperf(port, uniqueFile(dataDir, names), [...args, '-n', '1', '-l', String(world.seconds)]),
  });
  return rowsOf(row, samples, limits);
}
