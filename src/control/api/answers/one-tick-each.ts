import { setImmediate as nextTick } from 'node:timers/promises';

/**
 * Gives each caller a tick of the event loop for itself, in the order of the calls. The embedded engine reads records
 * synchronously: when 96 listings and pages are under way, other requests are answered between any two reads.
 *
 * @returns a function whose promise resolves in the caller's tick
 */
export function oneTickEach(): () => Promise<void> {
  let last = Promise.resolve();
  return () => {
    last = last.then(() => nextTick());
    return last;
  };
}
