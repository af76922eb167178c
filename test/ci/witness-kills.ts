/** Kills a witness with SIGKILL while a lying log offers it several histories. Exit code 1 when it cosigned two of them. */
import { killWitness } from '../faults/witness-kill.ts';

const kills = Number(process.argv[2] ?? 40);
const began = performance.now();
const report = await killWitness(kills, Math.random);
const seconds = Math.round((performance.now() - began) / 1000);
process.stdout.write(
  `${report.kills} kills, ${report.cosigned} checkpoints cosigned, ${report.unanswered} requests without an answer, ${report.kept} of them kept, ${seconds} s\n`,
);
