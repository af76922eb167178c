import { Client } from 'pg';
import { SqliteConnection } from '../../../../src/control/store/sqlite/driver.ts';

/**
 * Measures every statement of this process from now on, on either engine; COMMIT and the waits for locks are in it. For
 * benchmarks: it replaces methods for the rest of the process.
 *
 * @returns milliseconds of each statement, a list that grows
 */
export function timeStatements(): readonly number[] {
  const times: number[] = [];
  const timed = <A extends unknown[], R>(call: (...args: A) => R) =>
    function (this: unknown, ...args: A): R {
      const began = performance.now();
      const done = (): void => void times.push(performance.now() - began);
      const result = call.apply(this as never, args);
      if (result instanceof Promise) result.then(done, done);
      else done();
      return result;
    };
  const { prototype } = SqliteConnection;
  prototype.executeQuery = timed(prototype.executeQuery) as typeof prototype.executeQuery;
  prototype.run = timed(prototype.run);
  Client.prototype.query = timed(Client.prototype.query as (...args: unknown[]) => unknown) as never;
  return times;
}
