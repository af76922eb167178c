/**
 * `npm test`: runs all test files, or those whose path begins with an argument. Several processes run side by side, each with
 * one share of the files (test-shares.ts). The output of a share is printed when it ends. At the end come the skipped and the failed tests of all
 * shares, why they failed, and a line `N passed, N failed, N skipped`. Exit code 1 when anything failed. Nothing runs twice: a test that
 * fails now and then stands in QUARANTINE until it is mended.
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
import type { TestEnd } from './test-events.ts';
import { killShares, runShare, type Share, type ShareOutcome, sharesOf } from './test-shares.ts';

const ROOT = fileURLToPath(new URL('../', import.meta.url));
/** A share waits for servers in a third of its time, so three fill two cores. More would contend for the disk and the memory: each takes up to a gigabyte. */
const SIDE_BY_SIDE = Math.min(4, Math.max(3, Math.floor(availableParallelism() / 2)));
const SLOWEST = 30;
/** The reporter's title above the failures of a run, with their errors. */
const FAILURES = '✖ failing tests:';
const LINGERED = 'did not end after its last test: a thread, timer, socket or server of a test is still open';

export interface Ended extends ShareOutcome {
  readonly share: Share;
}

/** A test that fails now and then. Its failure is told and fails nothing, until it is mended. */
export interface Quarantined {
  /** The name of the test, without those of its suites. */
  readonly test: string;
  /** The day on which it was put here, YYYY-MM-DD. */
  readonly since: string;
  /** What is known of the cause. */
  readonly why: string;
}

/** Empty at a release: test/runner/report.test.ts sees to it. */
export const QUARANTINE: readonly Quarantined[] = [];

/**
 * Of all shares: how long, what was skipped, what failed and why, and the counts in the last line.
 *
 * @param quarantine tests whose failure is told and fails nothing
 */
export function report(ended: readonly Ended[], quarantine: readonly Quarantined[] = []) {
  const skipped = endsOf(ended, 'skipped');
  const excused = (end: TestEnd): boolean => quarantine.some(({ test }) => test === end.test);
  const bad = badOf(ended);
  const failed =
    bad.filter((end) => !excused(end)).length + ended.filter(({ fault }) => fault !== null).length;
  const lost = endsOf(ended, 'not run').length;
  const passed = endsOf(ended, 'passed').length;
  const remarks = [
    lost === 0 ? '' : `, ${lost} not run`,
    quarantine.length === 0 ? '' : `, ${quarantine.length} in quarantine`,
  ];
  const lines = [
    '\nshares:',
    ...ended.map((each) => `  ${rowOf(each)}`),
    ...skipped.map(({ test, reason }) => `skipped: ${test}${reason && ` (${reason})`}`),
    ...bad.filter(excused).map(({ test }) => `failed in quarantine: ${test}`),
    ...ended.flatMap((each) => failuresOf(each)),
    `\n${passed} passed, ${failed} failed, ${skipped.length} skipped${remarks.join('')}`,
  ];
  return { lines, passed: passed > 0 && failed === 0 };
}

/** Lines of the suites that took longest. */
function slowestOf(ended: readonly Ended[]): readonly string[] {
  return endsOf(ended)
    .filter(({ top }) => top)
    .toSorted((a, b) => b.ms - a.ms)
    .slice(0, SLOWEST)
    .map(
      ({ ms, test, at }) => `  ${(ms / 1000).toFixed(1).padStart(6)} s  ${test} (${at.replace(ROOT, '')})`,
    );
}

/** With their errors: the output of a share may stand thousands of lines above. */
function failuresOf(ended: Ended): readonly string[] {
  const { share, fault, output } = ended;
  if (fault === null && badOf([ended]).length === 0) return [];
  const lost = endsOf([ended], 'not run').length;
  const at = output.lastIndexOf(FAILURES);
  return [
    ...badOf([ended]).map(
      ({ outcome, test, at: place, ms }) =>
        `failed: ${test} (${place.replace(ROOT, '')})${outcome === 'failed' ? '' : `: stood still, ${(ms / 1000).toFixed(0)} s`}`,
    ),
    ...(fault === null ? [] : [`failed: share ${share.name} ${fault}`]),
    ...(lost === 0 ? [] : [`not run: ${lost} tests of share ${share.name} behind it`]),
    ...(at < 0 ? [] : [output.slice(at + FAILURES.length).trimEnd()]),
  ];
}

function endsOf(ended: readonly Ended[], outcome?: TestEnd['outcome']): readonly TestEnd[] {
  return ended
    .flatMap(({ events }) => events.filter((event): event is TestEnd => event.kind === 'end'))
    .filter((end) => outcome === undefined || end.outcome === outcome);
}

/** Tests that failed by themselves. */
function badOf(ended: readonly Ended[]): readonly TestEnd[] {
  return endsOf(ended).filter(({ outcome }) => outcome === 'failed' || outcome === 'stood still');
}

function rowOf({ share, seconds: took, events, fault, lingered }: Ended): string {
  const megabytes = Math.max(0, ...events.map((event) => (event.kind === 'end' ? event.megabytes : 0)));
  const remark = fault ?? (lingered ? LINGERED : '');
  return `${took.toFixed(0).padStart(4)} s  ${share.name}, ${megabytes} MB${remark && `: ${remark}`}`;
}

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

async function main(): Promise<void> {
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
}

if (import.meta.main) await main();
