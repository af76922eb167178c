import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { test } from 'node:test';
import { Worker } from 'node:worker_threads';
import type { LimitedWorkerData } from '../../../test/support/dns/connections/limited-worker.ts';
import { frame, query, until } from '../../../test/support/dns/fakes.ts';
import { ConnectionTable, createConnectionMemory, releaseConnections } from './connection-table.ts';

const ENTRY = new URL('../../../test/support/dns/connections/limited-worker.ts', import.meta.url);
const LIMIT = 12;

interface Thread {
  readonly worker: Worker;
  readonly port: number;
}

async function start(memory: SharedArrayBuffer, worker: number, port: number): Promise<Thread> {
  const workerData: LimitedWorkerData = { memory, worker, port, connections: LIMIT };
  const thread = new Worker(ENTRY, { workerData });
  const [bound] = (await once(thread, 'message')) as [number];
  return { worker: thread, port: bound };
}

/** A connection with questions in flight, which is not evicted. @returns null: it was refused */
async function busy(port: number, sockets: Socket[]): Promise<Socket | null> {
  const socket = connect({ port, host: '127.0.0.1' });
  sockets.push(socket);
  socket.on('error', () => socket.destroy());
  socket.resume();
  const settled = new Promise<Socket | null>((resolve) => {
    socket.once('close', () => resolve(null));
    socket.once('data', () => resolve(socket));
  });
  socket.write(Buffer.concat([frame(query(1, 'wait')), frame(query(2, 'hot'))]));
  return settled;
}

test('the limit holds over all threads while one is killed and replaced with connections open, and its places are free', async () => {
  const memory = createConnectionMemory(3, LIMIT);
  // A row of its own, which stays empty: this thread only reads.
  const table = new ConnectionTable(memory, 2);
  const first = await start(memory, 0, 0);
  const { port } = first;
  const threads = [first, await start(memory, 1, port)];
  const sockets: Socket[] = [];
  try {
    for (let i = 0; i < LIMIT; i++) assert.ok(await busy(port, sockets), `connection ${i}`);
    assert.equal(table.open('tcp'), LIMIT);
    assert.equal(await busy(port, sockets), null, 'the limit of the process, whichever thread accepts');
    assert.equal(table.open('tcp'), LIMIT);

    await threads[1]!.worker.terminate();
    releaseConnections(memory, 1);
    const kept = table.open('tcp');
    await until(() => sockets.filter(({ destroyed }) => !destroyed).length === kept);
    assert.equal(table.open('tcp'), kept);
    threads[1] = await start(memory, 1, port);
    for (let i = kept; i < LIMIT; i++) assert.ok(await busy(port, sockets), `connection ${i} afterwards`);
    assert.equal(await busy(port, sockets), null);
    assert.equal(table.open('tcp'), LIMIT);

    // A FIN would leave the connections open until their questions are answered.
    for (const socket of sockets) socket.resetAndDestroy();
    await until(() => table.open('tcp') === 0);
    assert.ok(await busy(port, sockets), 'all places are free again');
  } finally {
    for (const socket of sockets) socket.destroy();
    for (const { worker } of threads) await worker.terminate();
  }
});
