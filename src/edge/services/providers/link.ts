import { MessageChannel, type MessagePort } from 'node:worker_threads';
import type { Answer, Question } from './desk.ts';
import type { ProviderHub } from './hub.ts';

/** The hub's end of a line to one thread. @returns the end that goes into the thread; when it closes, so does ours */
export function connectDesk(hub: ProviderHub): MessagePort {
  const { port1: ours, port2: theirs } = new MessageChannel();
  ours.on('message', ({ id, feed, key }: Question) => {
    const reading = hub.ask(feed, key);
    const send = (answer: Answer): void => ours.postMessage(answer);
    if (reading instanceof Promise) void reading.then((late) => send({ id, reading: late }));
    else send({ id, reading });
  });
  // The line alone keeps neither side alive.
  ours.unref();
  return theirs;
}
