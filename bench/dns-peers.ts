/** UDP without DNSSEC against BIND, NSD and Knot: parts of bench/table.ts. Arguments: rounds, seconds of one load. */
import { print } from './lib/figures.ts';
import { runParts, tableOf } from './lib/run-parts.ts';
import { hotPlain } from './parts/hot.ts';
import { unique } from './parts/misses.ts';

const [rounds = '3', seconds = '3'] = process.argv.slice(2);
const options = { rounds: Number(rounds), seconds: Number(seconds), against: null };
print(`\n${tableOf(await runParts([hotPlain, unique], options))}`);
