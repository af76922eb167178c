/**
 * Puts each fault of test/simulation/planted-faults.ts into the code, and expects that the simulation finds it. Two at a time.
 * `--note` writes down by which seed each was found, where it is looked for first the next time.
 */
import { PLANTED_FAULTS } from '../simulation/planted-faults.ts';
import { findPlanted, noteSeeds } from '../simulation/planted-search.ts';

const PROCESSES = 2;
const print = (text: string): void => void process.stdout.write(`${text}\n`);
const waiting = Object.keys(PLANTED_FAULTS);
const seeds = new Map<string, number>();
let missed = 0;
let searched = 0;

async function worker(): Promise<void> {
  for (let name = waiting.shift(); name !== undefined; name = waiting.shift()) {
    const found = await findPlanted(name);
    if (found?.isRight) seeds.set(name, found.seed);
    else missed++;
    if (!found?.isNoted) searched++;
    const how = found === null ? 'not found' : `seed ${found.seed}: ${found.message}`;
    print(`${found?.isRight ? 'found ' : 'MISSED'} ${name.padEnd(32)} ${how}`);
  }
}

await Promise.all(Array.from({ length: PROCESSES }, worker));
print(`${Object.keys(PLANTED_FAULTS).length} faults, ${missed} not found`);
if (process.argv.includes('--note')) noteSeeds(seeds);
else if (searched > 0) print(`${searched} were not where they are noted: node test/ci/planted.ts --note`);
process.exitCode = missed === 0 ? 0 : 1;
