import { setImmediate as tick } from 'node:timers/promises';

/** Works off a queue, one step at a time. */
export interface Drain {
  /** Call it after work was added. Steps begin with the next tick of the event loop, unless they are under way. */
  start(): void;
  /** Resolves when there is no work left. Rejects when the step under way does. */
  idle(): Promise<void>;
}

/**
 * Runs steps while there is work, with a tick of the event loop before each, so that work which is added in one tick is seen by
 * one step and other callbacks run in between.
 * @param step takes work from the queue. When it rejects, the steps end; the next `start` begins again
 */
export function createDrain(hasWork: () => boolean, step: () => Promise<void>): Drain {
  let running: Promise<void> | null = null;

  async function run(): Promise<void> {
    try {
      await tick();
      while (hasWork()) {
        await step();
        await tick();
      }
    } finally {
      running = null;
    }
  }

  return {
    start() {
      running ??= run();
    },
    async idle() {
      while (running !== null) await running;
    },
  };
}
