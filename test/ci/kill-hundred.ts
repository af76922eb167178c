/** A hundred kills with SIGKILL in the middle of writes. Exit code 1 on the first thing that is not as it must be. */
import { killRepeatedly } from '../faults/kill.ts';

const kills = Number(process.argv[2] ?? 100);
const seed = Number(process.argv[3] ?? 20_261_120);
const report = await killRepeatedly(kills, seed);
process.stdout.write(
  `seed ${seed}: ${report.kills} kills, ${report.acknowledged} acknowledged writes, ${report.checked} names compared\n`,
);
