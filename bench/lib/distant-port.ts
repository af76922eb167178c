import { once } from 'node:events';
import { type AddressInfo, createServer, connect as dial, type Socket } from 'node:net';

/** A TCP port from which every octet takes `ms` to another one, and as long back. */
export interface DistantPort {
  readonly port: number;
  close(): void;
}

export async function distantPort(to: number, ms: number): Promise<DistantPort> {
  const open = new Set<Socket>();
  const server = createServer((near) => {
    const far = dial(to, '127.0.0.1');
    for (const [one, other] of [
      [near, far],
      [far, near],
    ] as const) {
      open.add(one);
      one.setNoDelay(true);
      one.on('error', () => {});
      one.on('data', (data) => setTimeout(() => other.write(data), ms));
      one.on('close', () => {
        open.delete(one);
        setTimeout(() => other.destroy(), ms);
      });
    }
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    port: (server.address() as AddressInfo).port,
    close() {
      server.close();
      for (const socket of open) socket.destroy();
    },
  };
}
