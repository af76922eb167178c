/** Units: computed answers per second in process, from the name below the zone to the outcome. All names differ. */
import { parseQueryName } from '../src/protocol/names/query-name.ts';
import { makeUnits } from '../src/services/units.ts';
import { median, print, row } from './lib/figures.ts';

const ROUNDS = 5;
const ANSWERS = 200_000;
const PAIRS = ['c-to-f', 'km-to-mi', 'kg-to-lb', 'l-to-gal', 'kmh-to-mph'] as const;

const units = makeUnits();
const rates: number[] = [];
for (let round = 0; round < ROUNDS; round++) {
  const startedAt = performance.now();
  for (let i = 0; i < ANSWERS; i++) {
    const parsed = parseQueryName(`get.${round}${i}d5-${PAIRS[i % PAIRS.length]}.units.public.v1`);
    if (parsed.kind !== 'query') throw new Error('a name that is none');
    const outcome = units.answer(parsed.query.params, 0);
    if (outcome instanceof Promise || outcome.kind !== 'answer') throw new Error('no answer');
  }
  rates.push(ANSWERS / ((performance.now() - startedAt) / 1000));
}
print(row(['units answers/s', Math.round(median(rates)).toString(), 'limit 50000']));
