/**
 * Composition root of the thread through which webhooks leave: their handshakes take none of the main thread's time. Started by
 * `outbound/thread/outbound-thread.ts`.
 */
import { parentPort, workerData } from 'node:worker_threads';
import { makeResolve } from './outbound/connection/resolver.ts';
import { createTlsSessions } from './outbound/connection/tls-sessions.ts';
import { openDoor } from './outbound/outbound-client.ts';
import { WEBHOOK_TARGETS } from './outbound/target/target-policy.ts';
import type { FromKeeper, KeeperSettings, ToKeeper } from './outbound/thread/messages.ts';

const port = parentPort;
if (port === null) throw new Error('this module is the body of a worker thread');
const { resolvers, deadlineMs } = workerData as KeeperSettings;
const door = openDoor({
  policy: WEBHOOK_TARGETS,
  resolve: makeResolve(resolvers),
  deadlineMs,
  sessions: createTlsSessions(),
});

port.on('message', ({ id, url, ...rest }: ToKeeper) => {
  void door({ ...rest, url: new URL(url) }).then((result) => {
    const message: FromKeeper = { id, result };
    port.postMessage(message);
  });
});
