import { MessageChannel, type MessagePort } from 'node:worker_threads';
import type { ProviderClient } from '../client/provider-client.ts';
import type { Answer, Question } from './worker-providers.ts';

/** Connects a worker to the provider client. Returns the worker's port; closing it closes both ends. */
export function connectWorker(client: ProviderClient): MessagePort {
  const { port1: ours, port2: theirs } = new MessageChannel();
  ours.on('message', ({ id, feed, key }: Question) => {
    const reading = client.ask(feed, key);
    const send = (answer: Answer): void => ours.postMessage(answer);
    if (reading instanceof Promise) void reading.then((late) => send({ id, reading: late }));
    else send({ id, reading });
  });
  // The port must not keep either side alive.
  ours.unref();
  return theirs;
}
