/** A thread that listens for DNS over TCP on a shared port, as a DNS worker does. It never answers a question `wait`. */
import { parentPort, workerData } from 'node:worker_threads';
import { CONNECTION_LIMITS } from '../../../../src/dns/shared/admission.ts';
import { ConnectionTable } from '../../../../src/dns/shared/connection-table.ts';
import { listenTcp } from '../../../../src/dns/stream/stream-server.ts';
import { setting } from '../fakes.ts';

export interface LimitedWorkerData {
  readonly memory: SharedArrayBuffer;
  readonly worker: number;
  readonly port: number;
  readonly connections: number;
}

if (parentPort !== null) {
  const { memory, worker, port, connections } = workerData as LimitedWorkerData;
  const listener = await listenTcp({
    ...setting(),
    port,
    reusePort: true,
    limits: { ...CONNECTION_LIMITS, connections, connectionsPerAddress: 0 },
    connections: new ConnectionTable(memory, worker),
  });
  parentPort.postMessage(listener.address.port);
}
