/**
 * Turns of the event loop, many in one: each real one asks the system what else there is to do, which took a sixth of the time of a seed.
 * While `everyTurn` runs, immediates of the product and of its libraries run in their order, each once all promises before it have settled.
 */
import { syncBuiltinESMExports } from 'node:module';
import timers from 'node:timers';
import promises from 'node:timers/promises';

/** Turns for which the loop is asked at once. */
const BATCH = 32;

/** What `setImmediate` returns here, which `clearImmediate` takes. */
class Turn {
  #run: (() => void) | null;

  constructor(run: () => void) {
    this.#run = run;
  }

  cancel(): void {
    this.#run = null;
  }

  run(): void {
    const run = this.#run;
    this.#run = null;
    run?.();
  }

  ref(): this {
    return this;
  }

  unref(): this {
    return this;
  }

  hasRef(): boolean {
    return true;
  }
}

const real = { setImmediate: timers.setImmediate, clearImmediate: timers.clearImmediate };
const realTurn = promises.setImmediate;
/** Those that wait, the first at `first`. */
let waiting: Turn[] = [];
let first = 0;
/** Called in each turn that nobody else has; null: turns are those of the event loop. */
let step: (() => boolean) | null = null;
/** Of a batch, those that are still to come: the last one alone keeps the loop going. */
let owed = 0;

/** @param next is called in each turn in which no immediate waits, until it returns false. It does not throw */
export function everyTurn(next: () => boolean): void {
  if (step !== null) throw new Error('turns are made for somebody else');
  step = next;
  if (owed === 0) ask();
}

function ask(): void {
  for (owed = BATCH; owed > 1; owed--) real.setImmediate(turn).unref();
  owed = BATCH;
  real.setImmediate(turn);
}

function turn(): void {
  owed--;
  if (step !== null && !foreign()) {
    if (first < waiting.length) take().run();
    else if (!step()) step = null;
  }
  if (owed === 0 && step !== null) ask();
}

/** Whether an immediate waits that was not made here, such as one of Node's own: it runs before the next batch. */
function foreign(): boolean {
  let count = 0;
  for (const name of process.getActiveResourcesInfo()) if (name === 'Immediate') count++;
  return count > (owed > 0 ? 1 : 0);
}

function take(): Turn {
  const next = waiting[first++]!;
  if (first === waiting.length) {
    waiting = [];
    first = 0;
  }
  return next;
}

function setImmediate(run: (...args: unknown[]) => void, ...args: unknown[]): Turn | NodeJS.Immediate {
  if (step === null) return real.setImmediate(run, ...args);
  const made = new Turn(() => run(...args));
  waiting.push(made);
  return made;
}

function clearImmediate(made: Turn | NodeJS.Immediate | undefined): void {
  if (made instanceof Turn) made.cancel();
  else real.clearImmediate(made);
}

Object.assign(timers, { setImmediate, clearImmediate });
Object.assign(globalThis, { setImmediate, clearImmediate });
Object.assign(promises, {
  setImmediate<T>(value?: T, options?: Parameters<typeof realTurn>[1]): Promise<T | undefined> {
    if (step === null || options !== undefined) return realTurn(value, options);
    return new Promise((resolve) => {
      waiting.push(new Turn(() => resolve(value)));
    });
  },
});
syncBuiltinESMExports();
