/** Composition root of one DNS worker thread, started by `edge/node/pool.ts`. */
import { parentPort, workerData } from 'node:worker_threads';
import { errorCode, ListenError } from './edge/node/listen-error.ts';
import type { FromWorker, LiveSettings, ToWorker, WorkerSettings } from './edge/node/settings.ts';
import { type EdgeWorker, startWorker } from './edge/node/worker.ts';

const port = parentPort;
if (port === null) throw new Error('this module is the body of a worker thread');
const tell = (message: FromWorker): void => port.postMessage(message);

try {
  const worker = await startWorker(workerData as WorkerSettings, {
    clock: Date.now,
    fault: (transport) => tell({ type: 'fault', transport }),
  });
  port.on('message', (message: ToWorker) => {
    if (message.type === 'change') tell({ type: tryChange(worker, message.settings), id: message.id });
    else void worker.stop().then(() => port.close());
  });
  tell({ type: 'listening', ports: worker.ports, udp: worker.udp });
} catch (error) {
  const listener = error instanceof ListenError ? error.listener : null;
  tell({ type: 'failed', code: errorCode(error), listener });
  port.close();
}

function tryChange(worker: EdgeWorker, settings: Partial<LiveSettings>): 'accepted' | 'refused' {
  try {
    worker.change(settings);
    return 'accepted';
  } catch {
    return 'refused';
  }
}
