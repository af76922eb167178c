import assert from 'node:assert/strict';
import type { Socket } from 'node:net';
import { Duplex } from 'node:stream';
import { test } from 'node:test';
import { setImmediate as turn } from 'node:timers/promises';
import { frame, query, setting } from '../../../test/support/dns/fakes.ts';
import { ReplyDecorator } from '../shared/edns.ts';
import { StreamTurns } from '../shared/turns.ts';
import { WRITE_BUFFER_OCTETS } from './framing.ts';
import { StreamConnection } from './stream-connection.ts';

/** The most that Node reads from a socket at once. */
const READ_OCTETS = 65_536;

/** A socket whose peer never reads. */
function deafSocket(): Duplex {
  const socket = new Duplex({ highWaterMark: WRITE_BUFFER_OCTETS, read() {}, write() {} });
  return Object.assign(socket, { setNoDelay() {}, destroySoon: () => socket.destroy() });
}

test('what a peer sends without reading fills one read, and one that was under way: then reading stops', async () => {
  const socket = deafSocket();
  const options = setting();
  const decorator = new ReplyDecorator('tcp', { cookies: null });
  new StreamConnection(socket as unknown as Socket, '127.0.0.1', {
    ...options,
    transport: 'tcp',
    decorator,
    pipeline: 128,
    turns: new StreamTurns(),
  });
  await turn();
  const one = frame(query(1, 'hot'));
  const read = Buffer.concat(Array.from({ length: READ_OCTETS / one.length + 1 }, () => one)).subarray(
    0,
    READ_OCTETS,
  );
  // A socket reads on within one turn of the event loop for as long as `push` returns true.
  let octets = 0;
  for (let isWanted = true; isWanted && octets < 64 * READ_OCTETS; octets += READ_OCTETS)
    isWanted = socket.push(read);
  assert.equal(socket.isPaused(), true);
  assert.equal(octets, 2 * READ_OCTETS);
  socket.destroy();
});

test('a connection that has hung up, and whose end is not taken, is overdue in its time, and gives way before', async () => {
  const socket = deafSocket();
  let now = 0;
  const connection = new StreamConnection(socket as unknown as Socket, '127.0.0.1', {
    ...setting(),
    clock: () => now,
    transport: 'tcp',
    decorator: new ReplyDecorator('tcp', { cookies: null }),
    pipeline: 128,
    turns: new StreamTurns(),
  });
  now = 5;
  socket.push(frame(query(1, 'hot')));
  socket.push(null);
  while (!socket.writableEnded) await turn();
  now = 1_000;
  // What the peer still sends begins nothing.
  socket.emit('data', frame(query(2, 'hot')));
  assert.equal(connection.idleSince, 5);
  assert.equal(connection.isOverdue(10_004, 10_000, 10_000), false);
  assert.equal(connection.isOverdue(10_005, 10_000, 10_000), true);
  connection.expire();
  assert.equal(socket.destroyed, true);
});
