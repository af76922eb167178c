import { compare, type Target, waitFor } from '../lib/compare.ts';
import { coldFile, coldName, fillCold } from '../lib/dataset.ts';
import { dnsperf } from '../lib/load.ts';
import { type Part, rowsOf } from '../lib/part.ts';

const RECORDS = 240_000;
const BATCH = 20_000;
const WARM_UP_SECONDS = 8;

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
      warmUpSeconds: WARM_UP_SECONDS,
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
