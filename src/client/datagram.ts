import { createSocket } from 'node:dgram';
import { isIPv6 } from 'node:net';
import type { Server } from './server.ts';

/** One query over UDP. Datagrams with another id are not the reply and are passed over. */
export function exchangeUdp(query: Uint8Array, server: Server, deadlineMs: number): Promise<Uint8Array> {
  return new Promise((resolve, reject) => {
    const socket = createSocket(isIPv6(server.host) ? 'udp6' : 'udp4');
    const timer = setTimeout(() => end(() => reject(new Error('no reply over UDP in time'))), deadlineMs);
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
    socket.connect(server.port, server.host, () => socket.send(query));
  });
}
