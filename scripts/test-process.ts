import { type ChildProcess, spawn } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import type { ShareEvent } from './test-events.ts';

const REPORTER = new URL('test-events.ts', import.meta.url).href;
const ROOT = fileURLToPath(new URL('../', import.meta.url));
/** Compiled modules, for the hundreds of servers and commands that tests start: a command needs half the CPU time. */
const COMPILE_CACHE = join(ROOT, 'node_modules/.cache/node');

/** Milliseconds between two looks at a share's events. */
const LOOK_MS = 500;
/** From one signal to the next, stronger one. */
const AFTER_KILL_MS = 5_000;

export interface ShareLimits {
  /** Milliseconds that a test has. It then fails alone. The slowest one needs about 25 s on a quiet machine. */
  readonly testMs: number;
  /** In which a test must begin or end: for one that never gives its thread back, and for hooks. The process is killed. */
  readonly silentMs: number;
  /** Milliseconds from the last test to the end of the process. */
  readonly exitMs: number;
}

export const SHARE_LIMITS: ShareLimits = { testMs: 120_000, silentMs: 300_000, exitMs: 30_000 };

export interface ShareOutcome {
  readonly output: string;
  readonly events: readonly ShareEvent[];
  /** Why the share failed beside its tests, or null. */
  readonly fault: string | null;
  /** All tests ended and their process did not: a thread, timer, socket or server of a test is still open. */
  readonly lingered: boolean;
  readonly seconds: number;
}

/** Process groups that run. The servers of a test belong to the group of its share. */
const running = new Set<ChildProcess>();

/** Ends all shares at once, for a signal to the whole run. */
export function killShares(): void {
  for (const child of running) killGroup(child);
}

function killGroup({ pid }: ChildProcess): void {
  try {
    if (pid !== undefined) process.kill(-pid, 'SIGKILL');
  } catch {
    // The group has ended.
  }
}

/** Runs test files in one process. */
export async function runShare(
  files: readonly string[],
  limits: ShareLimits = SHARE_LIMITS,
): Promise<ShareOutcome> {
  const folder = mkdtempSync(join(tmpdir(), 'uqrp-tests-'));
  const eventFile = join(folder, 'events');
  const began = performance.now();
  const child = spawn(process.execPath, argumentsFor(files, limits), {
    cwd: ROOT,
    env: {
      NODE_COMPILE_CACHE: COMPILE_CACHE,
      ...process.env,
      TEST_EVENTS: eventFile,
      // A share may itself be run by a test.
      NODE_TEST_CONTEXT: undefined,
    },
    stdio: ['ignore', 'pipe', 'pipe'],
    detached: true,
  });
  running.add(child);
  try {
    const output: Buffer[] = [];
    child.stdout.on('data', (chunk: Buffer) => output.push(chunk));
    child.stderr.on('data', (chunk: Buffer) => output.push(chunk));
    const end = await supervise(child, () => eventsOf(eventFile), limits);
    return {
      output: Buffer.concat(output).toString(),
      events: eventsOf(eventFile),
      ...end,
      seconds: (performance.now() - began) / 1000,
    };
  } finally {
    running.delete(child);
    rmSync(folder, { recursive: true, force: true });
  }
}

function argumentsFor(files: readonly string[], { testMs }: ShareLimits): string[] {
  return [
    '--test',
    '--test-isolation=none',
    `--test-timeout=${testMs}`,
    '--test-reporter=spec',
    '--test-reporter-destination=stdout',
    `--test-reporter=${REPORTER}`,
    '--test-reporter-destination=stdout',
    ...files,
  ];
}

/** Waits for the end of a share, and kills it when it stands still. */
async function supervise(
  child: ChildProcess,
  events: () => readonly ShareEvent[],
  { silentMs, exitMs }: ShareLimits,
): Promise<Pick<ShareOutcome, 'fault' | 'lingered'>> {
  // Not `exit`: output may follow it. A server that a test left running keeps the output open, which `exitMs` bounds.
  const closed = new Promise<void>((resolve) => child.once('close', () => resolve()));
  const failed = new Promise<void>((resolve) => child.once('error', () => resolve()));
  const ended = Promise.race([closed, failed]).then(() => true);
  let seen = 0;
  let changedAt = performance.now();
  while (!(await Promise.race([ended, sleep(LOOK_MS, false)]))) {
    const told = events();
    if (told.length > seen) {
      seen = told.length;
      changedAt = performance.now();
    }
    const open = openTests(told);
    const over = seen > 0 && open === '';
    if (performance.now() - changedAt < (over ? exitMs : silentMs)) continue;
    await killShare(child, ended);
    if (over) return { fault: null, lingered: true };
    return { fault: `stood still for ${silentMs / 1000} s in: ${open || 'no test'}`, lingered: false };
  }
  return { fault: faultOf(child, events()), lingered: false };
}

/** Why a share that has ended failed beside its tests, or null. */
function faultOf({ signalCode, exitCode }: ChildProcess, events: readonly ShareEvent[]): string | null {
  const how = signalCode ?? `exit code ${exitCode}`;
  if (!hasSummary(events))
    return `ended before its last test with ${how}, in: ${openTests(events) || 'no test'}`;
  const failed = events.some(
    (event) => event.kind === 'end' && (event.outcome === 'failed' || event.outcome === 'stood still'),
  );
  return exitCode === 0 || failed ? null : `ended with ${how} although no test failed`;
}

function hasSummary(events: readonly ShareEvent[]): boolean {
  return events.some(({ kind }) => kind === 'summary');
}

/**
 * At first the test runner may print its summary. Then the process alone, so that a database that watches it can end in good
 * order; then all that it has started.
 */
async function killShare(child: ChildProcess, ended: Promise<unknown>): Promise<void> {
  child.kill('SIGINT');
  await Promise.race([ended, sleep(AFTER_KILL_MS)]);
  child.kill('SIGKILL');
  await Promise.race([ended, sleep(AFTER_KILL_MS)]);
  killGroup(child);
  await ended;
}

/** Names of suites and tests that have begun and not ended. */
function openTests(events: readonly ShareEvent[]): string {
  const open: string[] = [];
  for (const event of events) {
    if (event.kind === 'begin') open.push(event.test);
    else if (event.kind === 'end') {
      const at = open.lastIndexOf(event.test);
      if (at >= 0) open.splice(at, 1);
    }
  }
  return open.join(' > ');
}

/** The last line may be written just now. */
function eventsOf(path: string): readonly ShareEvent[] {
  if (!existsSync(path)) return [];
  const lines = readFileSync(path, 'utf8').split('\n').slice(0, -1);
  return lines.map((line) => JSON.parse(line) as ShareEvent);
}
