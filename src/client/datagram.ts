import { createSocket, type SocketType } from 'node:dgram';
import { isIP } from 'node:net';
import type { Server } from './server.ts';

/** One query over UDP. Datagrams with another id are ignored. */
export async function exchangeUdp(
  query: Uint8Array,
  server: Server,
  deadlineMs: number,
): Promise<Uint8Array> {
  const family = isIP(server.host);
  if (family !== 0) return await exchange(query, server, deadlineMs, family === 6 ? 'udp6' : 'udp4');
  // A socket has one family: a name without an IPv4 address may have an IPv6 one.
  return await exchange(query, server, deadlineMs, 'udp4').catch((error: NodeJS.ErrnoException) => {
    if (error.code !== 'ENOTFOUND') throw error;
    return exchange(query, server, deadlineMs, 'udp6');
  });
}

function exchange(
  query: Uint8Array,
  server: Server,
  deadlineMs: number,
  type: SocketType,
): Promise<Uint8Array> {
  return new Promise((resolve, reject) => {
    const socket = createSocket(type);
    const timer = setTimeout(
      () => end(() => reject(new DOMException('no reply over UDP in time', 'TimeoutError'))),
      deadlineMs,
    );
    const end = (settle: () => void): void => {
      clearTimeout(timer);
      socket.close();
      settle();
    };
    socket.once('error', (error) => end(() => reject(error)));
    socket.on('message', (reply) => {
      if (reply[0] === query[0] && reply[1] === query[1]) end(() => resolve(reply));
    });
    // Connected, so that an unreachable port is an error instead of silence.
    socket.connect(server.port, server.host, (error?: Error | null) => {
      if (error) end(() => reject(error));
      else socket.send(query);
    });
  });
}
