/** Entry of the outbound thread, started by `outbound/thread/outbound-thread.ts`: keeps TLS handshakes off the main thread. */
import { parentPort, workerData } from 'node:worker_threads';
import { createTlsSessions, makeResolve } from '../outbound/connection.ts';
import { createOutboundClient } from '../outbound/outbound-client.ts';
import type { ThreadReply, ThreadRequest, ThreadSettings } from '../outbound/outbound-thread.ts';
import { WEBHOOK_TARGETS } from '../outbound/target.ts';

const port = parentPort;
if (port === null) throw new Error('this module is the body of a worker thread');
const { resolvers, deadlineMs } = workerData as ThreadSettings;
const client = createOutboundClient({
  policy: WEBHOOK_TARGETS,
  resolve: makeResolve(resolvers),
  deadlineMs,
  sessions: createTlsSessions(),
});

port.on('message', ({ id, url, ...rest }: ThreadRequest) => {
  void client({ ...rest, url: new URL(url) }).then((result) => {
    const message: ThreadReply = { id, result };
    port.postMessage(message);
  });
});
