/** A thread without a client: the path of the URL says whether it echoes the request, ends, or stays silent. */
import { parentPort } from 'node:worker_threads';
import type { ThreadReply, ThreadRequest } from '../../../src/outbound/outbound-thread.ts';

parentPort?.on('message', ({ id, url, body, headers }: ThreadRequest) => {
  const { pathname } = new URL(url);
  if (pathname === '/die') process.exit(1);
  if (pathname === '/mute') return;
  const message: ThreadReply = {
    id,
    result: { kind: 'response', status: 200, headers, body: Buffer.from(body ?? []) },
  };
  parentPort?.postMessage(message);
});
