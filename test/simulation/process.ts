import type { Clock } from '../../src/base/time.ts';
import type { MemoryBroker } from '../support/feed/bus/memory-bus.ts';
import type { Common, ProcessPorts } from './common.ts';
import type { Disk } from './disk.ts';
import type { Random } from './random.ts';
import type { ProcessTimers, Scheduler } from './scheduler.ts';

/** What stays when a process ends: name, clock and disk. It runs one process at a time. */
export interface Machine {
  readonly name: string;
  readonly clock: MachineClock;
  readonly disk: Disk;
  /** Begins a process. */
  boot(): ProcessPorts;
  /** No promise of it settles any more, and its connections are gone. */
  kill(): void;
  /** As SIGSTOP does: nothing of it runs, and what is sent to it waits. */
  pause(): void;
  resume(): void;
  isRunning(): boolean;
  isPaused(): boolean;
}

export interface MachineClock {
  readonly wall: Clock;
  /** Milliseconds from any beginning. */
  elapsed(): number;
  /** Sets the wall clock forward or back. */
  step(ms: number): void;
  /** From now on a second takes this much more or less. @param rate 0.01: it is one per cent fast */
  drift(rate: number): void;
  /** It shows the true time again. */
  mend(): void;
  /** True milliseconds of so many of its own. */
  truly(ms: number): number;
}

export function createMachineClock(scheduler: Scheduler): MachineClock {
  let since = scheduler.now();
  let counted = 0;
  let rate = 0;
  let offset = since;
  const elapsed = (): number => counted + (scheduler.now() - since) * (1 + rate);
  return {
    wall: () => Math.floor(offset + elapsed()),
    elapsed,
    step(ms) {
      offset += ms;
    },
    drift(next) {
      counted = elapsed();
      since = scheduler.now();
      rate = next;
    },
    mend() {
      counted = elapsed();
      since = scheduler.now();
      rate = 0;
      offset = since - counted;
    },
    truly: (ms) => ms / (1 + rate),
  };
}

interface RunningProcess {
  readonly timers: ProcessTimers;
  kill(): void;
  pause(): void;
  resume(): void;
  isPaused(): boolean;
}

function startProcess(scheduler: Scheduler, clock: MachineClock): RunningProcess {
  const began = clock.elapsed();
  let isDead = false;
  /** What came while it was paused; null: it is not. */
  let waiting: (() => void)[] | null = null;

  function enter<T>(run: () => T): T | Promise<Awaited<T>> {
    if (!isDead && waiting === null) return run();
    return new Promise((resolve, reject) => {
      waiting?.push(() => {
        try {
          resolve(run() as Awaited<T>);
        } catch (error) {
          reject(error as Error);
        }
      });
    });
  }

  return {
    timers: {
      isDead: () => isDead,
      enter,
      elapsed: () => clock.elapsed() - began,
      after(ms, run) {
        if (isDead) return () => {};
        let isCancelled = false;
        const fire = (): void => {
          if (!isCancelled) run();
        };
        const cancel = scheduler.after(clock.truly(ms), () => void enter(fire));
        return () => {
          isCancelled = true;
          cancel();
        };
      },
    },
    isPaused: () => waiting !== null,
    kill() {
      isDead = true;
      waiting = null;
    },
    pause() {
      if (!isDead) waiting ??= [];
    },
    resume() {
      const came = waiting ?? [];
      waiting = null;
      for (const run of came) scheduler.soon(() => void enter(run));
    },
  };
}

export interface MachineOptions extends Pick<Common, 'scheduler' | 'counters' | 'trace'> {
  readonly name: string;
  readonly disk: Disk;
  readonly broker: Pick<MemoryBroker, 'connect'>;
  /** Of nonces, keys and numbers of questions. */
  readonly random: Random;
}

export function createMachine({
  name,
  scheduler,
  disk,
  broker,
  random,
  counters,
  trace,
}: MachineOptions): Machine {
  const clock = createMachineClock(scheduler);
  let running: (RunningProcess & { readonly disconnect: () => void }) | null = null;
  return {
    name,
    clock,
    disk,
    boot() {
      if (running !== null) throw new Error(`${name} is running`);
      trace(`${name} starts`);
      const process = startProcess(scheduler, clock);
      const connected = broker.connect(name);
      running = { ...process, disconnect: () => void connected.close() };
      const { timers } = process;
      return {
        name,
        timers,
        clock: clock.wall,
        random: (octets) => random.octets(octets),
        chance: () => random.next(),
        bus: whileAlive(connected, timers),
        disk,
        counters,
        trace,
      };
    },
    kill() {
      running?.kill();
      running?.disconnect();
      running = null;
    },
    pause: () => running?.pause(),
    resume: () => running?.resume(),
    isRunning: () => running !== null,
    isPaused: () => running?.isPaused() ?? false,
  };
}

/**
 * A port as one process sees it: once the process is dead, no call arrives and no promise settles, so nothing of it goes on. While it is
 * paused, answers and calls of its listeners wait.
 */
export function whileAlive<Port extends object>(port: Port, process: ProcessTimers): Port {
  const wrapped: Record<string, unknown> = {};
  for (const [name, value] of Object.entries(port) as [string, unknown][]) {
    if (typeof value !== 'function') throw new TypeError(`${name} of a port is no function`);
    wrapped[name] = (...args: unknown[]): unknown => {
      if (process.isDead()) return new Promise(() => {});
      const result: unknown = Reflect.apply(
        value,
        port,
        args.map((arg) =>
          typeof arg === 'function' ? entered(arg as (...args: never[]) => unknown, process) : arg,
        ),
      );
      return result instanceof Promise ? settledWhileAlive(result, process) : result;
    };
  }
  return wrapped as Port;
}

function entered(listener: (...args: never[]) => unknown, process: ProcessTimers): unknown {
  return (...args: never[]): unknown => process.enter(() => listener(...args));
}

function settledWhileAlive(result: Promise<unknown>, process: ProcessTimers): Promise<unknown> {
  return new Promise((resolve, reject) => {
    result.then(
      (value) => void process.enter(() => resolve(value)),
      (error: unknown) => void process.enter(() => reject(error as Error)),
    );
  });
}
