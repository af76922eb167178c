/**
 * Composition root of one DNS worker thread: sockets, packet handler and a reader of the view. Started by
 * `edge/node/pool.ts`; ends itself when told to stop.
 */
import { parentPort, workerData } from 'node:worker_threads';
import type { FromWorker, ToWorker, WorkerSettings } from './edge/node/settings.ts';
import { startWorker } from './edge/node/worker.ts';

const port = parentPort;
if (port === null) throw new Error('this module is the body of a worker thread');
const tell = (message: FromWorker): void => port.postMessage(message);

try {
  const worker = await startWorker(workerData as WorkerSettings, {
    clock: Date.now,
    fault: (transport) => tell({ type: 'fault', transport }),
  });
  port.on('message', (message: ToWorker) => {
    if (message.type === 'tls') worker.reloadTls(message.tls);
    else if (message.type === 'keys') worker.reloadKeys(message.keys);
    else void worker.stop().then(() => port.close());
  });
  tell({ type: 'listening', ports: worker.ports, udp: worker.udp });
} catch (error) {
  const code = (error as NodeJS.ErrnoException).code;
  tell({ type: 'failed', code: typeof code === 'string' ? code : 'UNKNOWN' });
  port.close();
}
