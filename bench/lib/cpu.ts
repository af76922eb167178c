import { readdirSync, readFileSync } from 'node:fs';

/** Clock ticks a second of /proc/PID/stat: 100 on every Linux that Node runs on. */
const TICKS = 100;

/**
 * CPU seconds of a process with all its threads and children (NSD answers from a child), and of the processes `beside` it, from the scheduler:
 * `/proc/PID/stat` counts in hundredths, too coarse for a paced load.
 */
export function cpuOf({
  pid,
  beside = [],
}: {
  readonly pid: number;
  readonly beside?: readonly number[];
}): number {
  return [...family(pid), ...beside].reduce((sum, one) => sum + threadSeconds(one), 0);
}

/** CPU seconds of the children of this process that have ended: of load generators, while no server ends. */
export function cpuOfEndedChildren(): number {
  const [user, system] = statOf('self').slice(13, 15).map(Number) as [number, number];
  return (user + system) / TICKS;
}

function threadSeconds(pid: number): number {
  const threads = readdirSync(`/proc/${pid}/task`).map((task) => `/proc/${pid}/task/${task}/schedstat`);
  return threads.reduce((sum, file) => sum + Number(readFileSync(file, 'utf8').split(' ')[0]) / 1e9, 0);
}

/** The process and all its children. */
export function family(pid: number): number[] {
  const children = readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .map(Number)
    .filter((child) => parentOf(child) === pid);
  return [pid, ...children.flatMap(family)];
}

function parentOf(pid: number): number {
  try {
    return Number(statOf(pid)[1]);
  } catch {
    return -1;
  }
}

/** Fields of proc(5) from the third one, the state, on. The command's name before it may contain spaces. */
function statOf(pid: number | 'self'): string[] {
  const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
  return stat.slice(stat.lastIndexOf(')') + 2).split(' ');
}
