/** Puts each fault of test/simulation/planted-faults.ts into the code, and expects that the simulation finds it. Two at a time. */
import { PLANTED_FAULTS, PLANTED_SEEDS } from '../simulation/planted-faults.ts';
import { runSeeds } from '../simulation/runner.ts';

const PROCESSES = 2;
const print = (text: string): void => void process.stdout.write(`${text}\n`);
const waiting = Object.entries(PLANTED_FAULTS);
let missed = 0;

async function worker(): Promise<void> {
  for (let next = waiting.shift(); next !== undefined; next = waiting.shift()) {
    const [name, fault] = next;
    const { failures } = await runSeeds({
      first: 1,
      last: PLANTED_SEEDS,
      processes: 1,
      fault,
      small: fault.small ? 'all' : 'none',
      failuresMax: 1,
    });
    const [found] = failures;
    const isFound = found !== undefined && fault.finds.test(found.message);
    if (!isFound) missed++;
    const how = found === undefined ? 'not found' : `seed ${found.seed}: ${found.message}`;
    print(`${isFound ? 'found ' : 'MISSED'} ${name.padEnd(32)} ${how}`);
  }
}

await Promise.all(Array.from({ length: PROCESSES }, worker));
print(`${Object.keys(PLANTED_FAULTS).length} faults, ${missed} not found`);
process.exitCode = missed === 0 ? 0 : 1;
