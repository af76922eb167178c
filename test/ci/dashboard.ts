/**
 * The dashboard: its budgets, and the flows of test/dashboard in a real browser, two side by side. Prints a table; exit code 1 when a flow
 * fails or a budget is exceeded.
 *
 *   node test/ci/dashboard.ts                  everything
 *   node test/ci/dashboard.ts sign-in          the flows whose names begin so
 *   node test/ci/dashboard.ts --screens        also writes the pictures in docs/screens
 */
import { execFile, spawnSync } from 'node:child_process';
import { globSync, readFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { gzipSync } from 'node:zlib';
import { browserMissing } from '../support/control/passkeys/browser.ts';

const ROOT = fileURLToPath(new URL('../../', import.meta.url));
const DIST = join(ROOT, 'dashboard/dist');
const KB = 1024;
/** Seconds for one flow: it ends one that hangs. With other work on the machine the longest takes 40 to 200. */
const FLOW_SECONDS = 600;
/** Each waits for its page in two thirds of its time. */
const SIDE_BY_SIDE = 2;
/** Of what a flow prints. */
const OUTPUT_MAX = 64 * KB * KB;
/** The best of several, because other work on the machine only makes a build longer. */
const BUILDS = 3;
/** A machine with other work, or a slow one, takes longer by the clock: only a build of so many times its budget is a fault. */
const BUSY = 8;

interface Row {
  readonly name: string;
  readonly value: string;
  readonly isGood: boolean;
}

function print(text: string): void {
  process.stdout.write(`${text}\n`);
}

function builds(): number[] {
  return Array.from({ length: BUILDS }, () => {
    const began = performance.now();
    const { status, stderr } = spawnSync(process.execPath, ['dashboard/build.ts', '--force'], { cwd: ROOT });
    if (status !== 0) throw new Error(`the build failed: ${stderr.toString()}`);
    return performance.now() - began;
  });
}

function budgets(): Row[] {
  const buildMs = Math.min(...builds());
  const manifest = JSON.parse(readFileSync(join(DIST, 'manifest.json'), 'utf8')) as {
    files: string[];
    first: string[];
    landing: string[];
    later: Record<string, string[]>;
  };
  const compressed = (files: readonly string[]): number =>
    files.reduce((sum, file) => sum + gzipSync(readFileSync(join(DIST, file)), { level: 9 }).length, 0);
  const ofType = (type: string): string[] => manifest.files.filter((file) => file.endsWith(type));
  const styles = ofType('.css');
  const isLater = (file: string): boolean => basename(file).startsWith('later-');
  const size = (name: string, octets: number, max: number): Row => ({
    name,
    value: `${(octets / KB).toFixed(1)} of ${max} KB`,
    isGood: octets <= max * KB,
  });
  const first = compressed(manifest.first);
  const [screen, further] = Object.entries(manifest.later)
    .map(([source, scripts]) => [source, compressed(scripts)] as const)
    .reduce((largest, next) => (next[1] > largest[1] ? next : largest));
  return [
    // On a phone with 1.6 Mbit/s 60 KB take less than a third of a second, a further screen an eighth.
    size('scripts of the first load, gzip', first, 60),
    size('scripts of the page of visitors, gzip', compressed(manifest.landing), 40),
    size(`scripts of ${basename(screen, '.tsx')}, the largest further screen, gzip`, further, 25),
    // Nobody loads it at once. The bound keeps the whole from growing unseen.
    size('all scripts, gzip', compressed(ofType('.js')), 250),
    size('style of the first load, gzip', compressed(styles.filter((file) => !isLater(file))), 8),
    size('style of further screens, gzip', compressed(styles.filter(isLater)), 8),
    {
      name: 'a whole build, with the start of Node',
      value: `${buildMs.toFixed(0)} of 1000 ms`,
      isGood: buildMs <= 1000 * BUSY,
    },
  ];
}

function runFlow(file: string, withScreens: boolean): Promise<Row> {
  const began = performance.now();
  return new Promise((resolve) => {
    const child = execFile(
      process.execPath,
      ['--test', '--test-isolation=none', '--test-force-exit', file],
      {
        cwd: ROOT,
        timeout: FLOW_SECONDS * 1000,
        killSignal: 'SIGKILL',
        maxBuffer: OUTPUT_MAX,
        env: { ...process.env, ...(withScreens ? { DASHBOARD_SCREENS: '1' } : {}) },
      },
      (error, stdout, stderr) => {
        const passed = Number(/^ℹ pass (\d+)$/m.exec(stdout)?.[1] ?? 0);
        // A file without a test that passed proves nothing.
        const isGood = error === null && passed > 0;
        if (!isGood) print(stdout + stderr);
        const seconds = ((performance.now() - began) / 1000).toFixed(1);
        const failure = error?.killed === true ? `stopped after ${FLOW_SECONDS} s` : 'failed';
        const result = isGood ? `${passed} passed` : failure;
        resolve({ name: basename(file, '.ts'), value: `${result}, ${seconds} s`, isGood });
      },
    );
    child.stdin?.end();
  });
}

/** @returns rows in the order of `files` */
async function runFlows(files: readonly string[], withScreens: boolean): Promise<Row[]> {
  const results: Row[] = [];
  const entries = files.entries();
  const lane = async (): Promise<void> => {
    for (const [i, file] of entries) results[i] = await runFlow(file, withScreens);
  };
  await Promise.all(Array.from({ length: SIDE_BY_SIDE }, lane));
  return results;
}

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { screens: { type: 'boolean', default: false } },
});
const rows = budgets();
const missing = browserMissing();
if (missing === null) {
  const flows = globSync('test/dashboard/*.ts', { cwd: ROOT }).toSorted();
  const chosen = flows.filter(
    (file) => positionals.length === 0 || positionals.some((name) => basename(file).startsWith(name)),
  );
  rows.push(...(await runFlows(chosen, values.screens)));
}
const width = Math.max(...rows.map(({ name }) => name.length));
for (const { name, value, isGood } of rows) print(`${isGood ? '  ' : '! '}${name.padEnd(width)}  ${value}`);
if (missing !== null) print(`skipped: the flows, because ${missing}`);
process.exitCode = rows.every(({ isGood }) => isGood) ? 0 : 1;
