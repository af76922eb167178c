import { setImmediate as nextTick } from 'node:timers/promises';

/**
 * Gives each caller a tick of the event loop, in call order. SQLite reads block the thread: without it, 96 listings and
 * pages would delay every other request.
 */
export function oneTickEach(): () => Promise<void> {
  let last = Promise.resolve();
  return () => {
    last = last.then(() => nextTick());
    return last;
  };
}
