/** What `npm test` says at its end. */
import { fileURLToPath } from 'node:url';
import type { TestEnd } from './test-events.ts';
import type { Share, ShareOutcome } from './test-shares.ts';

const ROOT = fileURLToPath(new URL('../', import.meta.url));
const SLOWEST = 30;
/** The reporter's title above the failures of a run, with their errors. */
const FAILURES = '✖ failing tests:';
export const LINGERED =
  'did not end after its last test: a thread, timer, socket or server of a test is still open';

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
export function slowestOf(ended: readonly Ended[]): readonly string[] {
  return endsOf(ended)
    .filter(({ top }) => top)
    .toSorted((a, b) => b.ms - a.ms)
    .slice(0, SLOWEST)
    .map(({ ms, test, at }) => `  ${(ms / 1000).toFixed(1).padStart(6)} s  ${test} (${shown(at)})`);
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
        `failed: ${test} (${shown(place)})${outcome === 'failed' ? '' : `: stood still, ${(ms / 1000).toFixed(0)} s`}`,
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

function shown(at: string): string {
  return at.replace(ROOT, '');
}
