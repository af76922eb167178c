/**
 * A stand-in for a DNS worker in tests of the pool, which control it through shared memory. It answers a datagram with
 * its number and the first octet of its ticket keys, or the day of its cookies when the datagram is `cookies`, and ends when it is `die`. A question is answered with its number, `refuse` is
 * refused, `wait` has no answer, and `die` ends it.
 */
import { createSocket } from 'node:dgram';
import { parentPort, workerData } from 'node:worker_threads';
import type { FromWorker, ToWorker, WorkerSettings } from '../../src/process/node/settings.ts';

/** Indexes into the shared memory, 32-bit words. */
export const STEER = { holdStart: 0, starts: 1, endAfterListening: 2, endBeforeListening: 3 } as const;
/** The worker refuses ticket keys of this octet. */
export const REFUSED = 255;

if (parentPort !== null) await run(workerData as WorkerSettings);

async function run({ ports, host, worker, stats, ticketKeys, cookies }: WorkerSettings): Promise<void> {
  const steer = new Int32Array(stats);
  let inUse = ticketKeys[0];
  let day = cookies[0]?.period;
  Atomics.add(steer, STEER.starts, 1);
  // `Atomics.waitAsync` does not keep a thread alive; a timer does.
  const alive = setInterval(() => {}, 1000);
  await Atomics.waitAsync(steer, STEER.holdStart, 1).value;
  clearInterval(alive);
  if (take(steer, STEER.endBeforeListening)) process.exit(1);

  const tell = (message: FromWorker): void => parentPort?.postMessage(message);
  const socket = createSocket({ type: 'udp4', reusePort: true });
  socket.on('message', (message, peer) => {
    if (message.toString() === 'die') process.exit(1);
    socket.send(`${worker} ${message.toString() === 'cookies' ? day : inUse}`, peer.port, peer.address);
  });
  socket.bind({ port: ports.dns, address: host }, () => {
    tell({ type: 'listening', ports: { ...ports, dns: socket.address().port }, udp: 'node' });
    if (take(steer, STEER.endAfterListening)) process.exit(1);
  });
  parentPort?.on('message', (message: ToWorker) => {
    if (message.type === 'stop') socket.close(() => parentPort?.close());
    else if (message.type === 'ask') answer(worker, message, tell);
    else if (message.settings.ticketKeys?.[0] === REFUSED) tell({ type: 'refused', id: message.id });
    else {
      inUse = message.settings.ticketKeys?.[0] ?? inUse;
      day = message.settings.cookies?.[0]?.period ?? day;
      tell({ type: 'accepted', id: message.id });
    }
  });
}

function answer(
  worker: number,
  { id, ask }: Extract<ToWorker, { type: 'ask' }>,
  tell: (message: FromWorker) => void,
): void {
  const text = ask.asked.kind === 'wire' ? Buffer.from(ask.asked.message).toString() : '';
  if (text === 'die' || text === `die ${worker}`) process.exit(1);
  if (text === 'wait' || text === `wait ${worker}`) return;
  const isRefused = text === 'refuse' || text === `refuse ${worker}`;
  const reply = isRefused ? null : { status: 200, headers: {}, body: Uint8Array.of(worker) };
  tell({ type: 'reply', id, reply });
}

/** Decrements a counter above 0. @returns whether it did */
function take(steer: Int32Array, at: number): boolean {
  if (Atomics.sub(steer, at, 1) > 0) return true;
  Atomics.add(steer, at, 1);
  return false;
}
