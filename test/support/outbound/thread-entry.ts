/** A thread that keeps no door: what it answers, and whether, stands in the path. */
import { parentPort } from 'node:worker_threads';
import type { FromKeeper, ToKeeper } from '../../../src/outbound/thread/messages.ts';

parentPort?.on('message', ({ id, url, body, headers }: ToKeeper) => {
  const { pathname } = new URL(url);
  if (pathname === '/die') process.exit(1);
  if (pathname === '/mute') return;
  const message: FromKeeper = {
    id,
    result: { kind: 'response', status: 200, headers, body: Buffer.from(body ?? []) },
  };
  parentPort?.postMessage(message);
});
