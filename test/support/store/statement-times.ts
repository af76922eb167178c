import { Client } from 'pg';
import { SqliteConnection } from '../../../src/store/sqlite/driver.ts';

/** A method as a function that is called with its object: `call.apply` gives it back. */
type Method = (...args: unknown[]) => unknown;

/** The method that the object has under the name, which a plain access would take as unbound. */
function methodOf(object: object, name: string): Method {
  return Reflect.get(object, name) as Method;
}

/**
 * Measures every statement of this process from now on, on either engine; COMMIT and the waits for locks are in it. For
 * benchmarks: it replaces methods for the rest of the process.
 *
 * @returns milliseconds of each statement, a list that grows
 */
export function timeStatements(): readonly number[] {
  const times: number[] = [];
  const timed = (call: Method): Method =>
    function (this: unknown, ...args: unknown[]): unknown {
      const began = performance.now();
      const done = (): void => void times.push(performance.now() - began);
      const result = call.apply(this, args);
      if (result instanceof Promise) result.then(done, done);
      else done();
      return result;
    };
  const replace = (object: object, name: string): void => {
    Reflect.set(object, name, timed(methodOf(object, name)));
  };
  replace(SqliteConnection.prototype, 'execute');
  replace(SqliteConnection.prototype, 'run');
  replace(Client.prototype, 'query');
  return times;
}
