/** A worker thread that listens by batches. Its handler echoes, or never comes back, as the first octet of a query says. */

import { parentPort, workerData } from 'node:worker_threads';
import { listenUdpBatch, loadUdpAddon } from '../../../../src/dns/udp/batch-listener.ts';
import { echo, setting } from '../fakes.ts';

/** First octet of a query that the handler chokes on. */
export const FATAL = { loop: 1, exit: 2, throw: 3 } as const;

if (parentPort !== null) {
  const { port } = workerData as { readonly port: number };
  const listener = await listenUdpBatch(
    {
      ...setting(),
      port,
      reusePort: true,
      handler: {
        hot(request, length, _transport, out) {
          if (request[0] === FATAL.loop) for (;;) out[0] = 0;
          if (request[0] === FATAL.exit) process.exit(0);
          // In a microtask, uncaught: the thread ends.
          if (request[0] === FATAL.throw) queueMicrotask(() => assertNever());
          const reply = echo(request.subarray(0, length));
          out.set(reply);
          return reply.length;
        },
        slow: () => null,
        nameShare: () => 0,
        isSpent: () => false,
      },
    },
    loadUdpAddon()!,
  );
  parentPort.postMessage(listener.address.port);
}

function assertNever(): never {
  throw new Error('the thread is to end');
}
