import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { encodeQuery } from '../../src/protocol/dns/message/message.ts';
import { nameFromText } from '../../src/protocol/dns/name.ts';
import { compare } from '../lib/compare.ts';
import { FIRST_NAME, hotFile } from '../lib/dataset.ts';
import { dnsperf, h2load, prime } from '../lib/load.ts';
import { type Part, type Row, rowsOf } from '../lib/part.ts';
import type { Side, World } from '../lib/world.ts';

const WARM_UP_SECONDS = 6;

const over = (sides: readonly Side[], transport: 'dot' | 'doh') =>
  sides.map((side) => ({ ...side, port: side.server.ports[transport] }));

/** Hot names over TLS, ten connections. */
export const dot: Part = {
  name: 'dot',
  async run(world) {
    const ours = await world.ours();
    const file = hotFile(ours[0]!.server.dataDir);
    const samples = await compare([...over(ours, 'dot'), await world.secureBind('dot')], {
      what: 'DoT',
      rounds: world.rounds,
      warmUpSeconds: WARM_UP_SECONDS,
      prime: ({ port }) => prime(port, file, ['-m', 'dot', '-D']),
      load: ({ port }) => dnsperf(port, file, ['-m', 'dot', '-D', '-l', String(world.seconds)]),
    });
    return rowsOf({ part: 'dot', what: 'DoT' }, samples, { BIND: 0.5, before: null });
  },
};

/** One hot name over HTTP/2, 20 requests under way on each of ten connections. */
export const doh: Part = {
  name: 'doh',
  run: (world) => https(world, 'doh', 'DoH, 20 in flight on each of 10', 20, { BIND: 0.4, before: null }),
};

/** The same with one request at a time. */
export const dohSingle: Part = {
  name: 'doh-single',
  run: (world) =>
    https(world, 'doh-single', 'DoH, one at a time on each of 10', 1, { BIND: null, before: null }),
};

async function https(
  world: World,
  part: string,
  what: string,
  streams: number,
  limits: Readonly<Record<string, number | null>>,
): Promise<readonly Row[]> {
  const ours = await world.ours();
  const body = join(ours[0]!.server.dataDir, 'query.bin');
  const edns = { payload: 1232, dnssecOk: true };
  writeFileSync(body, encodeQuery(nameFromText(FIRST_NAME)!, 16, { id: 0, rd: false, edns }));
  const samples = await compare([...over(ours, 'doh'), await world.secureBind('doh')], {
    what,
    rounds: world.rounds,
    warmUpSeconds: WARM_UP_SECONDS,
    load: ({ port }) => h2load(port, body, streams, world.seconds),
  });
  return rowsOf({ part, what }, samples, limits);
}
