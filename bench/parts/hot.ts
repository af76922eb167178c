import { compare } from '../lib/compare.ts';
import { hotFile } from '../lib/dataset.ts';
import { dnsperf, prime } from '../lib/load.ts';
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
