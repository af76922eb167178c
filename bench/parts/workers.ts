import { compare, type Target } from '../lib/compare.ts';
import { hotFile } from '../lib/dataset.ts';
import { dnsperf, prime } from '../lib/load.ts';
import { type Part, rowsOf } from '../lib/part.ts';

const WARM_UP_SECONDS = 4;
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
