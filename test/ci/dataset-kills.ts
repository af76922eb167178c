/** Kills imports of datasets with SIGKILL. Exit code 1 at the first answer that is not of the version imported last. */
import { killImports } from '../faults/dataset-kill.ts';

const kills = Number(process.argv[2] ?? 20);
const seed = Number(process.argv[3] ?? Date.now() % 2 ** 31);
const items = Number(process.argv[4] ?? 10_000);
process.stdout.write(`seed ${seed}: node test/ci/dataset-kills.ts ${kills} ${seed} ${items}\n`);
const began = performance.now();
const report = await killImports(kills, seed, items);
const seconds = Math.round((performance.now() - began) / 1000);
process.stdout.write(
  `${report.kills} kills, ${report.resumed} of resumed imports, ${report.late} had stored everything; ${report.questions} questions, ${seconds} s\n`,
);
