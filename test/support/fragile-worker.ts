/** A worker thread that echoes datagrams, and ends at once when one says `die`. Stands in for a DNS worker in pool tests. */
import { createSocket } from 'node:dgram';
import { parentPort, workerData } from 'node:worker_threads';
import type { FromWorker, ToWorker, WorkerSettings } from '../../src/edge/node/settings.ts';

const { ports, host, worker } = workerData as WorkerSettings;
const socket = createSocket({ type: 'udp4', reusePort: true });
socket.on('message', (message, peer) => {
  if (message.toString() === 'die') process.exit(1);
  socket.send(`${worker}`, peer.port, peer.address);
});
socket.bind({ port: ports.dns, address: host }, () => {
  const listening: FromWorker = {
    type: 'listening',
    ports: { ...ports, dns: socket.address().port },
    udp: 'node',
  };
  parentPort?.postMessage(listening);
});
parentPort?.on('message', (message: ToWorker) => {
  if (message.type === 'stop') socket.close(() => parentPort?.close());
});
