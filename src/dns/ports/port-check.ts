import { createSocket } from 'node:dgram';
import { createServer, isIPv6 } from 'node:net';

export interface PortUse {
  /** Name of the variable that sets it. */
  readonly variable: string;
  readonly host: string;
  readonly port: number;
  readonly protocol: 'udp' | 'tcp';
}

export interface PortFault {
  readonly use: PortUse;
  /** Such as `EADDRINUSE`. */
  readonly code: string;
}

/** The first port in use, or null. Binds without SO_REUSEPORT, which would let two servers share a port. Skips port 0. */
export async function findPortFault(uses: readonly PortUse[]): Promise<PortFault | null> {
  for (const use of uses) {
    if (use.port === 0) continue;
    const code = await (use.protocol === 'udp' ? tryUdp(use) : tryTcp(use));
    if (code !== null) return { use, code };
  }
  return null;
}

function tryUdp({ host, port }: PortUse): Promise<string | null> {
  return new Promise((resolve) => {
    const socket = createSocket(isIPv6(host) ? 'udp6' : 'udp4');
    socket.once('error', (error: NodeJS.ErrnoException) => {
      socket.close();
      resolve(error.code ?? 'UNKNOWN');
    });
    socket.bind({ address: host, port, exclusive: true }, () => socket.close(() => resolve(null)));
  });
}

function tryTcp({ host, port }: PortUse): Promise<string | null> {
  return new Promise((resolve) => {
    const server = createServer((socket) => socket.destroy());
    server.once('error', (error: NodeJS.ErrnoException) => resolve(error.code ?? 'UNKNOWN'));
    server.listen({ host, port, exclusive: true }, () => server.close(() => resolve(null)));
  });
}
