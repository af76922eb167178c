/** The shares of `npm test`: how the test files are divided, and how one share runs in its process. */
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

/** A file belongs to the first of these that its path begins with. Those that take long come first, so that the last shares are short. */
const FOLDERS = 'test/e2e/ src/http/ src/store/ src/cli/ src/dns/ src/control/ test/ sdk/ dashboard/ src/';
/** Longer folders are cut, so that a share is no large part of the whole run. */
const FILES_MAX = 24;
/** Milliseconds between two looks at a share's events. */
const LOOK_MS = 500;
/** From one signal to the next, stronger one. */
const AFTER_KILL_MS = 5_000;

const LIMITS = {
  /** Milliseconds that a test has. It then fails alone. The slowest one needs about 25 s on a quiet machine. */
  testMs: 120_000,
  /** In which a test must begin or end: for one that never gives its thread back, and for hooks. The process is killed. */
  silentMs: 300_000,
  /** Milliseconds from the last test to the end of the process. */
  exitMs: 30_000,
};

/** Files that one process loads, so that they share what they import, and one PostgreSQL. */
export interface Share {
  /** The folder; with a number when it has several shares. */
  readonly name: string;
  /** Sorted paths from the project's root. */
  readonly files: readonly string[];
}

export interface ShareOutcome {
  readonly output: string;
  readonly events: readonly ShareEvent[];
  /** Why the share failed beside its tests, or null. */
  readonly fault: string | null;
  /** All tests ended and their process did not: a thread, timer, socket or server of a test is still open. */
  readonly lingered: boolean;
  readonly seconds: number;
}

/** Equal parts of at most `max` files. Files are dealt in turn, because neighbours are often slow together. @throws Error when a file is in no folder */
export function sharesOf(files: readonly string[], max = FILES_MAX): readonly Share[] {
  const folders = FOLDERS.split(' ');
  const groups = Map.groupBy(files.toSorted(), (file) => folders.find((start) => file.startsWith(start)));
  const [stray] = groups.get(undefined) ?? [];
  if (stray !== undefined) throw new Error(`${stray} is in no folder of scripts/test-shares.ts`);
  return folders.flatMap((folder) => {
    const members = groups.get(folder) ?? [];
    const parts = Math.ceil(members.length / max);
    return Array.from({ length: parts }, (_, part) => ({
      name: folder.slice(0, -1) + (parts === 1 ? '' : ` ${part + 1}/${parts}`),
      files: members.filter((_file, i) => i % parts === part),
    }));
  });
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
export async function runShare(files: readonly string[], limits = LIMITS): Promise<ShareOutcome> {
  const folder = mkdtempSync(join(tmpdir(), 'uqrp-tests-'));
  const eventFile = join(folder, 'events');
  const began = performance.now();
  const child = spawn(
    process.execPath,
    [
      '--test',
      '--test-isolation=none',
      `--test-timeout=${limits.testMs}`,
      ...['spec', REPORTER].flatMap((one) => [
        `--test-reporter=${one}`,
        '--test-reporter-destination=stdout',
      ]),
      ...files,
    ],
    {
      cwd: ROOT,
      // A share may itself be run by a test.
      env: {
        NODE_COMPILE_CACHE: COMPILE_CACHE,
        ...process.env,
        TEST_EVENTS: eventFile,
        NODE_TEST_CONTEXT: undefined,
      },
      stdio: ['ignore', 'pipe', 'pipe'],
      detached: true,
    },
  );
  running.add(child);
  try {
    const output: Buffer[] = [];
    for (const stream of [child.stdout, child.stderr])
      stream.on('data', (chunk: Buffer) => output.push(chunk));
    const end = await supervise(child, () => eventsOf(eventFile), limits);
    const seconds = (performance.now() - began) / 1000;
    return { output: Buffer.concat(output).toString(), events: eventsOf(eventFile), ...end, seconds };
  } finally {
    running.delete(child);
    rmSync(folder, { recursive: true, force: true });
  }
}

/** Waits for the end of a share, and kills it when it stands still. */
async function supervise(
  child: ChildProcess,
  events: () => readonly ShareEvent[],
  { silentMs, exitMs }: typeof LIMITS,
): Promise<Pick<ShareOutcome, 'fault' | 'lingered'>> {
  // Not `exit`: output may follow it. A server that a test left running keeps the output open, which `exitMs` bounds.
  const ended = new Promise<true>((resolve) => {
    for (const event of ['close', 'error']) child.once(event, () => resolve(true));
  });
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
  if (!events.some(({ kind }) => kind === 'summary'))
    return `ended before its last test with ${how}, in: ${openTests(events) || 'no test'}`;
  const failed = events.some(
    (event) => event.kind === 'end' && (event.outcome === 'failed' || event.outcome === 'stood still'),
  );
  return exitCode === 0 || failed ? null : `ended with ${how} although no test failed`;
}

/**
 * At first the test runner may print its summary. Then the process alone, so that a database that watches it can end in good
 * order; then all that it has started.
 */
async function killShare(child: ChildProcess, ended: Promise<unknown>): Promise<void> {
  for (const signal of ['SIGINT', 'SIGKILL'] as const) {
    child.kill(signal);
    await Promise.race([ended, sleep(AFTER_KILL_MS)]);
  }
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
