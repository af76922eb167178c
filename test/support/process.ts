import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { constants, setPriority } from 'node:os';

/** Clock ticks a second of /proc/PID/stat: 100 on every Linux that Node runs on. */
const TICKS = 100;

/** CPU seconds, user and system, of a process with all its threads. */
export function cpuSeconds(pid: number): number {
  const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
  // The command's name is in brackets and may contain spaces.
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  return (Number(fields[11]) + Number(fields[12])) / TICKS;
}

/** Resident memory in MB: private pages, and pages of files that other processes may share. */
export function residentMegabytes(pid: number): { anon: number; file: number; all: number } {
  const status = readFileSync(`/proc/${pid}/status`, 'utf8');
  const field = (name: string): number =>
    Number(new RegExp(`^${name}:\\s+(\\d+) kB`, 'm').exec(status)?.[1]) / 1024;
  return { anon: field('RssAnon'), file: field('RssFile'), all: field('VmRSS') };
}

/**
 * Gives this thread, and every thread and process that it starts from now on, the cores before other work of the machine. What is measured
 * then does not wait for that. Does nothing without the right to.
 */
export function preferThisProcess(): void {
  try {
    setPriority(constants.priority.PRIORITY_HIGHEST);
  } catch {
    // Not root, or a container that does not allow it.
  }
}

/** Ends the script with a reason when a program is missing. */
export function requirePrograms(programs: Readonly<Record<string, string>>): void {
  const missing = Object.entries(programs).filter(
    ([program]) => spawnSync('sh', ['-c', `command -v ${program}`]).status !== 0,
  );
  if (missing.length === 0) return;
  process.stdout.write(`skipped: needs the Debian packages ${missing.map(([, name]) => name).join(' ')}\n`);
  process.exit(0);
}

export function start(command: string, args: readonly string[], env: NodeJS.ProcessEnv = {}): ChildProcess {
  return spawn(command, args, { env: { ...process.env, ...env }, stdio: ['ignore', 'pipe', 'pipe'] });
}

export async function stop(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const gone = once(child, 'exit');
  child.kill('SIGTERM');
  await gone;
}
