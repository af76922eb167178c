import { execFileSync } from 'node:child_process';
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { family } from './cpu.ts';

/** What the scheduler has counted of a thread, seconds: on a processor, and ready to run while others had the processors. */
export interface ThreadTimes {
  readonly id: number;
  readonly ran: number;
  readonly waited: number;
}

/** The threads of a process and its children; all, or those of one name. */
export function threadsOf(pid: number, name: string | null = null): ThreadTimes[] {
  return family(pid).flatMap((one) =>
    readdirSync(`/proc/${one}/task`)
      .filter((id) => name === null || readFileSync(`/proc/${one}/task/${id}/comm`, 'utf8').trim() === name)
      .map((id) => timesOf(one, Number(id))),
  );
}

function timesOf(pid: number, id: number): ThreadTimes {
  const [ran, waited] = readFileSync(`/proc/${pid}/task/${id}/schedstat`, 'utf8').split(' ').map(Number);
  return { id, ran: ran! / 1e9, waited: waited! / 1e9 };
}

/** The thread that ran most while `work` did: of a server under load the one that answers. */
export async function busiestThread(pid: number, work: () => unknown): Promise<number> {
  const before = new Map(threadsOf(pid).map(({ id, ran }) => [id, ran]));
  await work();
  const grown = threadsOf(pid).map(({ id, ran }) => ({ id, ran: ran - (before.get(id) ?? 0) }));
  return grown.reduce((most, one) => (one.ran > most.ran ? one : most)).id;
}

/** Runs a thread before every ordinary one (SCHED_FIFO; needs root). @param priority 1 to 99 */
export function runFirst(thread: number, priority: number): void {
  execFileSync('chrt', ['-f', '-p', String(priority), String(thread)]);
}

const REALTIME_MICROS = '/proc/sys/kernel/sched_rt_runtime_us';

/**
 * Lets the kernel's threads that deliver packets (`ksoftirqd`) run before ordinary ones, and threads that go first run without the pause
 * of 50 ms in each second. Of the whole machine, and needs root. @returns puts both back
 */
export function deliverFirst(priority: number): () => void {
  const threads = execFileSync('pgrep', ['ksoftirqd'], { encoding: 'utf8' }).trim().split('\n');
  const micros = readFileSync(REALTIME_MICROS);
  for (const thread of threads) runFirst(Number(thread), priority);
  writeFileSync(REALTIME_MICROS, '-1');
  return () => {
    writeFileSync(REALTIME_MICROS, micros);
    for (const thread of threads) execFileSync('chrt', ['-o', '-p', '0', thread]);
  };
}

/** Keeps a thread on one processor. */
export function keepOn(core: number, thread: number): void {
  execFileSync('taskset', ['-c', '-p', String(core), String(thread)], { stdio: 'ignore' });
}
