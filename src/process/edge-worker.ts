/** Composition root of one DNS worker thread, started by `process/node/pool.ts`. */
import { parentPort, workerData } from 'node:worker_threads';
import type { Ask } from './node/asks.ts';
import {
  errorCode,
  type FromWorker,
  ListenError,
  type LiveSettings,
  type ToWorker,
  type WorkerSettings,
} from './node/settings.ts';
import { type EdgeWorker, startWorker } from './node/worker.ts';

const port = parentPort;
if (port === null) throw new Error('this module is the body of a worker thread');
const tell = (message: FromWorker, transferred: ArrayBuffer[] = []): void =>
  port.postMessage(message, transferred);

try {
  const worker = await startWorker(workerData as WorkerSettings, {
    clock: Date.now,
    fault: (transport) => tell({ type: 'fault', transport }),
    xdp: (change) => tell({ type: 'xdp', change }),
    counted: (buffer) => tell({ type: 'counted', buffer }, [buffer]),
  });
  port.on('message', (message: ToWorker) => {
    if (message.type === 'change') tell({ type: tryChange(worker, message.settings), id: message.id });
    else if (message.type === 'ask') void reply(worker, message.id, message.ask);
    else void worker.stop().then(() => port.close());
  });
  tell({ type: 'listening', ports: worker.ports, udp: worker.udp });
} catch (error) {
  const listener = error instanceof ListenError ? error.listener : null;
  tell({ type: 'failed', code: errorCode(error), listener });
  port.close();
}

async function reply(worker: EdgeWorker, id: number, ask: Ask): Promise<void> {
  const answer = await worker.answer(ask);
  if (answer === null) {
    tell({ type: 'reply', id, reply: null });
    return;
  }
  // Its own octets: the memory behind them may be shared with the cache.
  const body = Uint8Array.from(answer.body);
  tell({ type: 'reply', id, reply: { ...answer, body } }, [body.buffer]);
}

function tryChange(worker: EdgeWorker, settings: Partial<LiveSettings>): 'accepted' | 'refused' {
  try {
    worker.change(settings);
    return 'accepted';
  } catch {
    return 'refused';
  }
}
