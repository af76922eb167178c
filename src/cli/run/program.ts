/** One program that runs with variables, and gets the signals that come for us. */
import { type ChildProcess, spawn } from 'node:child_process';
import { constants } from 'node:os';
import { realTimers, type Timers } from '../../base/lifecycle/timers.ts';
import { escapeControls } from '../output.ts';
import { withUmask } from '../umask.ts';

/** Signals that are passed on. SIGKILL and SIGSTOP cannot be; SIGCHLD is about our own child. */
const PASSED = [
  'SIGTERM',
  'SIGINT',
  'SIGHUP',
  'SIGQUIT',
  'SIGUSR1',
  'SIGUSR2',
  'SIGWINCH',
  'SIGCONT',
] as const;
/** A terminal sends these to every process of the foreground itself. */
const FROM_TERMINAL: ReadonlySet<string> = new Set(['SIGINT', 'SIGQUIT', 'SIGWINCH', 'SIGCONT']);
/** Milliseconds from SIGTERM to SIGKILL of a program that is started again. */
const STOP_MS = 10_000;
/** Exit codes of a shell for a program that is not there, and for one that cannot be run. */
const NOT_FOUND = 127;
const NOT_RUNNABLE = 126;

export type Variables = Readonly<Record<string, string | undefined>>;

export interface RunningProgram {
  /** The exit code: that of the program, or 128 and the number of the signal that ended it. */
  readonly ended: Promise<number>;
  /** Ends the program, and starts it with other variables. Does nothing once SIGTERM has come for us. */
  restart(variables: Variables): void;
  hangUp(): void;
}

/** Starts a program on our own input and output. */
export function startProgram(
  command: readonly string[],
  variables: Variables,
  umask: number | undefined,
  timers: Timers = realTimers,
): RunningProgram {
  const [file = '', ...args] = command;
  const { promise, resolve } = Promise.withResolvers<number>();
  let child: ChildProcess;
  /** Variables of the next start; null: the program is not being started again. */
  let next: Variables | null = null;
  /** Cancels the SIGKILL of a program that is being started again. */
  let spare = (): void => {};
  /** SIGTERM came: later values start nothing. After SIGINT and SIGQUIT they do, since programs live on after them: a JVM prints its threads. */
  let isStopping = false;

  const start = (given: Variables): void => {
    child = withUmask(umask, () => spawn(file, args, { env: given, stdio: 'inherit' }));
    child.once('error', (error: NodeJS.ErrnoException) => resolve(tellFault(file, error)));
    child.once('exit', (code, signal) => {
      spare();
      if (next === null) resolve(code ?? 128 + constants.signals[signal!]);
      else {
        const again = next;
        next = null;
        start(again);
      }
    });
  };
  for (const signal of PASSED) {
    process.on(signal, () => {
      if (FROM_TERMINAL.has(signal) && process.stdin.isTTY) return;
      // Who stops the program ends a start that is due, and the program has the time that it wants.
      if (STOPPING.has(signal)) {
        next = null;
        spare();
      }
      if (signal === 'SIGTERM') isStopping = true;
      child.kill(signal);
    });
  }
  start(variables);
  return {
    ended: promise,
    restart(given) {
      if (isStopping) return;
      if (next === null) {
        child.kill('SIGTERM');
        spare = timers.after(STOP_MS, () => child.kill('SIGKILL'));
      }
      next = given;
    },
    hangUp: () => child.kill('SIGHUP'),
  };
}

const STOPPING: ReadonlySet<string> = new Set(['SIGTERM', 'SIGINT', 'SIGQUIT']);

/** @returns the exit code */
function tellFault(file: string, { code = 'failed' }: NodeJS.ErrnoException): number {
  const reasons: Readonly<Record<string, string>> = {
    ENOENT: 'there is no such program',
    EACCES: 'this user may not run it',
    E2BIG: 'its arguments and variables are too long for this system',
  };
  process.stderr.write(`${escapeControls(file)}: ${reasons[code] ?? code}\n`);
  return code === 'ENOENT' ? NOT_FOUND : NOT_RUNNABLE;
}
