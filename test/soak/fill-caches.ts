import { createSocket, type Socket } from 'node:dgram';
import { setTimeout as pause } from 'node:timers/promises';
import { RRTYPE } from '../../src/protocol/dns/codes.ts';
import { encodeQuery } from '../../src/protocol/dns/message/message.ts';
import { nameFromText } from '../../src/protocol/dns/name.ts';

/** The kernel assigns each socket to one worker; with this many, every worker gets about the same number. */
const SOCKETS = 64;
/** Queries in flight: below the 1,024 queries that may wait in a worker. */
const AT_ONCE = 64;
/** Time after which a reply counts as lost, milliseconds. */
const PATIENCE_MS = 1000;

/**
 * Fills the packet cache of every worker. A cache stores a reply at the second query, so each name is asked twice.
 *
 * @param suffix of the names, which do not exist
 * @param names number of names
 * @returns number of replies received
 */
export async function fillPacketCaches(port: number, suffix: string, names: number): Promise<number> {
  let replies = 0;
  let waiting = 0;
  let arrived = (): void => {};
  const sockets = Array.from({ length: SOCKETS }, () => {
    const socket = createSocket('udp4');
    socket.on('message', () => {
      replies++;
      if (--waiting === 0) arrived();
    });
    return socket;
  });
  for (let first = 0; first < names; first += AT_ONCE) {
    const socket = sockets[(first / AT_ONCE) % SOCKETS]!;
    const all = new Promise<void>((resolve) => {
      arrived = resolve;
    });
    waiting = 2 * AT_ONCE;
    for (let i = 0; i < AT_ONCE; i++) askTwice(socket, port, `get.fill${first + i}.${suffix}`);
    await Promise.race([all, pause(PATIENCE_MS, undefined, { ref: false })]);
  }
  for (const socket of sockets) socket.close();
  return replies;
}

function askTwice(socket: Socket, port: number, name: string): void {
  const edns = { payload: 1232, dnssecOk: false };
  const query = encodeQuery(nameFromText(name)!, RRTYPE.TXT, { id: 1, rd: true, edns });
  socket.send(query, port, '127.0.0.1');
  socket.send(query, port, '127.0.0.1');
}
