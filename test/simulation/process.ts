import type { ProcessTimers } from './scheduler.ts';

/**
 * A port as one process sees it: once the process is dead, no call arrives and no promise settles, so nothing of it goes on.
 */
export function whileAlive<Port extends object>(port: Port, process: ProcessTimers): Port {
  const wrapped: Record<string, unknown> = {};
  for (const [name, value] of Object.entries(port) as [string, unknown][]) {
    if (typeof value !== 'function') throw new TypeError(`${name} of a port is no function`);
    wrapped[name] = (...args: unknown[]): unknown => {
      if (process.isDead()) return new Promise(() => {});
      const result: unknown = Reflect.apply(value, port, args);
      return result instanceof Promise ? settledWhileAlive(result, process) : result;
    };
  }
  return wrapped as Port;
}

function settledWhileAlive(result: Promise<unknown>, process: ProcessTimers): Promise<unknown> {
  return new Promise((resolve, reject) => {
    result.then(
      (value) => {
        if (!process.isDead()) resolve(value);
      },
      (error: unknown) => {
        if (!process.isDead()) reject(error as Error);
      },
    );
  });
}
