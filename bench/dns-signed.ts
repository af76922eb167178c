/** Signed answers: parts of bench/table.ts. Arguments: rounds, seconds of one load, parts (`hot,denial,dot,doh`). */
import { print } from './lib/figures.ts';
import { runParts, tableOf } from './lib/run-parts.ts';
import { hotSigned } from './parts/hot.ts';
import { denial, denialPaced } from './parts/misses.ts';
import { doh, dohSingle, dot } from './parts/streams.ts';

const PARTS = [hotSigned, denial, denialPaced, dot, doh, dohSingle];

const [rounds = '3', seconds = '3', names] = process.argv.slice(2);
const chosen = names === undefined ? PARTS : PARTS.filter(({ name }) => names.split(',').includes(name));
const options = { rounds: Number(rounds), seconds: Number(seconds), against: null };
print(`\n${tableOf(await runParts(chosen, options))}`);
