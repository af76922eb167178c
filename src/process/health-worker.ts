/** Entry of the thread that answers on UQRP_METRICS, started by `telemetry/health-thread.ts`. */
import type { AddressInfo } from 'node:net';
import { parentPort, workerData } from 'node:worker_threads';
import { collectGarbage } from '../base/lifecycle/collect-garbage.ts';
import { realTimers } from '../base/lifecycle/timers.ts';
import {
  createHealth,
  createHealthServer,
  type FromHealth,
  type HealthSettings,
  type ToHealth,
} from '../ops/telemetry/health-server.ts';

const port = parentPort;
if (port === null) throw new Error('this module is the body of a worker thread');
const { host, port: wanted, ready } = workerData as HealthSettings;
const tell = (message: FromHealth): void => port.postMessage(message);
const now = (): number => performance.now();
const health = createHealth({
  ready,
  ask: (what) => tell({ type: 'ask', what }),
  now,
  timers: realTimers,
});
const server = createHealthServer(health, now);

port.on('message', (message: ToHealth) => {
  if (message.type !== 'stop') health.told(message);
  else {
    server.close();
    server.closeAllConnections();
    port.close();
  }
});
server.once('error', (error: NodeJS.ErrnoException) => {
  tell({ type: 'failed', code: error.code ?? '', message: error.message });
  port.close();
});
server.listen(wanted, host, () => {
  collectGarbage();
  tell({ type: 'listening', port: (server.address() as AddressInfo).port });
});
