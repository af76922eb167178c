/** Kills the server with SIGKILL a hundred times during writes. Exit code 1 at the first lost or wrong record. */
import { killRepeatedly } from '../faults/kill.ts';

const kills = Number(process.argv[2] ?? 100);
const seed = Number(process.argv[3] ?? 20_261_120);
const report = await killRepeatedly(kills, seed, (done) => {
  if (done % 10 === 0) process.stdout.write(`${done} kills, nothing lost\n`);
});
process.stdout.write(
  `seed ${seed}: ${report.kills} kills, ${report.acknowledged} acknowledged writes, ${report.checked} names compared\n`,
);
