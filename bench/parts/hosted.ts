import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { compare, type Target, waitFor } from '../lib/compare.ts';
import { coldFile, coldName, fillCold, hotFile } from '../lib/dataset.ts';
import { compiled, dnsperf, prime } from '../lib/load.ts';
import { type Part, rowsOf } from '../lib/part.ts';
import type { World } from '../lib/world.ts';

const WARM_UP_SECONDS = 4;

/** Names that exist, each asked repeatedly over UDP, against zones that were signed beforehand. */
export const hotSigned: Part = {
  name: 'hot',
  run: (world) => hot(world, 'signed', { NSD: 0.75, BIND: 0.5, Knot: null, before: null }),
};

/** The same without DNSSEC. */
export const hotPlain: Part = {
  name: 'hot-plain',
  run: (world) => hot(world, 'plain', { NSD: null, BIND: 1.3, Knot: null, before: null }),
};

async function hot(world: World, data: 'signed' | 'plain', targets: Readonly<Record<string, number | null>>) {
  const ours = await world.ours();
  const all = [...ours, await world.bind(data), await world.nsd(data), await world.knot(data)];
  const file = hotFile(ours[0]!.server.dataDir);
  const what = `hot UDP, ${data === 'signed' ? 'signed' : 'no DO'}`;
  const edns = data === 'signed' ? '-D' : '-e';
  const samples = await compare(all, {
    what,
    rounds: world.rounds,
    warmUpSeconds: WARM_UP_SECONDS,
    prime: ({ port }) => prime(port, file, [edns]),
    load: ({ port }) => dnsperf(port, file, [edns, '-l', String(world.seconds)]),
  });
  return rowsOf({ part: data === 'signed' ? 'hot' : 'hot-plain', what }, samples, targets);
}

const RECORDS = 240_000;
const BATCH = 20_000;
const COLD_WARM_UP_SECONDS = 8;

/** Hosted records that exist, each asked once, with DO: read from the view and signed when asked. Needs another checkout. */
export const cold: Part = {
  name: 'cold',
  async run(world) {
    if (world.against === null) return [];
    const sides = await world.oursWithoutBudget();
    for (const side of sides) {
      await fillCold(side.server, RECORDS);
      await waitFor(side, coldName(RECORDS - 1));
    }
    const asked = new Map<string, number>();
    const samples = await compare(sides, {
      what: 'cold hosted read, signed',
      rounds: world.rounds,
      warmUpSeconds: COLD_WARM_UP_SECONDS,
      load({ name, port }: Target) {
        const from = asked.get(name) ?? 0;
        if (from + BATCH > RECORDS) throw new Error('every record was asked: use fewer rounds');
        asked.set(name, from + BATCH);
        const file = coldFile(sides[0]!.server.dataDir, RECORDS, from, BATCH);
        return dnsperf(port, file, ['-D', '-n', '1']);
      },
    });
    return rowsOf({ part: 'cold', what: 'cold hosted read, signed' }, samples, { before: 0.75 });
  },
};

/** Queries a second of one worker. */
const RATES = [20_000, 30_000];
/** The kernel gives a client to one worker, by its port: with many clients both get about half. */
const CLIENTS = '40';

/** Hot names: a server with one worker at a rate, and one with two at twice that rate. */
export const workers: Part = {
  name: 'workers',
  async run(world) {
    const one: Target = { ...(await world.ours())[0]!, name: 'one worker' };
    const two = await world.twoWorkers();
    const file = hotFile(two.server.dataDir);
    const rows = [];
    for (const rate of RATES) {
      const what = `two workers, ${rate / 1000},000/s each`;
      const load = ({ name, port }: Target) => {
        const total = name === one.name ? rate : 2 * rate;
        return dnsperf(port, file, ['-D', '-c', CLIENTS, '-Q', String(total), '-l', String(world.seconds)]);
      };
      const fill = ({ port }: Target) => prime(port, file, ['-D', '-c', CLIENTS]);
      const options = { what, rounds: world.rounds, warmUpSeconds: WARM_UP_SECONDS, prime: fill, load };
      const samples = await compare([one, two], options);
      rows.push(...rowsOf({ part: 'workers', what, ours: two.name }, samples, { [one.name]: 1 }));
    }
    return rows;
  },
};

const ECHO_PORT = 5441;
/** Octets of a signed answer beyond its question. */
const ANSWER_OCTETS = 480;

/** The least that a hot answer can cost: a program in C that sends each question back with as many octets more, beside ours and NSD. */
export const floor: Part = {
  name: 'floor',
  async run(world) {
    const [ours] = await world.ours();
    const { dataDir } = ours!.server;
    const program = compiled('udp-echo', dataDir);
    const echo = spawn(program, [String(ECHO_PORT), String(ANSWER_OCTETS)], { stdio: 'ignore' });
    try {
      await once(echo, 'spawn');
      const file = hotFile(dataDir);
      const what = 'hot UDP, signed, to the C echo';
      const targets = [ours!, await world.nsd('signed'), { name: 'C echo', port: ECHO_PORT, pid: echo.pid! }];
      const samples = await compare(targets, {
        what,
        rounds: world.rounds,
        warmUpSeconds: WARM_UP_SECONDS,
        prime: ({ port }) => prime(port, file, ['-D']),
        load: ({ port }) => dnsperf(port, file, ['-D', '-l', String(world.seconds)]),
      });
      return ['uqrp', 'NSD'].flatMap((name) =>
        rowsOf({ part: 'floor', what: `${what}: ${name}`, ours: name }, samples, { 'C echo': null }),
      );
    } finally {
      echo.kill();
    }
  },
};
