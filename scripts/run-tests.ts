/**
 * `npm test`: runs all test files, or those whose path begins with an argument. Several processes run side by side, each with
 * one share of the files (test-shares.ts). The output of a share is printed when it ends. At the end come the skipped and the failed tests of all
 * shares, why they failed, and a line `N passed, N failed, N skipped`. Exit code 1 when anything failed. Nothing runs twice: a test that
 * fails now and then stands in QUARANTINE (test-report.ts) until it is mended.
 *
 *   npm test -- src/protocol/dns test/docs
 *   TEST_SEED=7 npm test     with the seed of a run that failed: tests that draw their input take it
 *   npm test -- --leaks      a process that does not end by itself fails: a test left something open
 *   npm test -- --slowest    lists the slowest suites
 */
import { randomInt } from 'node:crypto';
import { globSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { type Ended, LINGERED, QUARANTINE, report, slowestOf } from './test-report.ts';
import { killShares, runShare, type Share, sharesOf } from './test-shares.ts';

const ROOT = fileURLToPath(new URL('../', import.meta.url));
/** More would contend for the disk, and for the memory of a laptop: each takes up to half a gigabyte. */
const SIDE_BY_SIDE = Math.min(4, Math.max(2, Math.floor(availableParallelism() / 2)));

function print(text: string): void {
  process.stdout.write(`${text}\n`);
}

async function runAll(shares: readonly Share[], leaks: boolean): Promise<readonly Ended[]> {
  const waiting = [...shares];
  const ended: Ended[] = [];
  const worker = async (): Promise<void> => {
    for (let share = waiting.shift(); share !== undefined; share = waiting.shift()) {
      const outcome = await runShare(share.files);
      print(`\n== ${share.name}: ${share.files.length} files\n${outcome.output.trimEnd()}`);
      ended.push({
        share,
        ...outcome,
        fault: outcome.fault ?? (leaks && outcome.lingered ? LINGERED : null),
      });
    }
  };
  await Promise.all(Array.from({ length: SIDE_BY_SIDE }, worker));
  return ended;
}

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { leaks: { type: 'boolean', default: false }, slowest: { type: 'boolean', default: false } },
});
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
  process.once(signal, () => {
    killShares();
    process.exit(1);
  });
}
const files = globSync('{src,test,sdk,dashboard}/**/*.test.ts', {
  cwd: ROOT,
  exclude: ['**/node_modules/**'],
}).filter((file) => positionals.length === 0 || positionals.some((start) => file.startsWith(start)));
if (files.length === 0) {
  print(`no test file begins with ${positionals.join(' or ')}`);
  process.exit(1);
}
process.env.TEST_SEED ??= String(randomInt(2 ** 31));
const seed = `seed ${process.env.TEST_SEED} (TEST_SEED repeats it)`;
const shares = sharesOf(files);
print(`${files.length} files in ${shares.length} shares, ${SIDE_BY_SIDE} side by side, ${seed}`);
const ended = await runAll(shares, values.leaks);
if (values.slowest) print(`\nslowest:\n${slowestOf(ended).join('\n')}`);
const { lines, passed } = report(ended, QUARANTINE);
if (!passed) print(`\n${seed}`);
print(lines.join('\n'));
process.exitCode = passed ? 0 : 1;
