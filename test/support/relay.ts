import { once } from 'node:events';
import { type AddressInfo, createServer, connect as dial, type Socket } from 'node:net';

/** A TCP port in front of a PostgreSQL socket. A test can cut it: connections break, and new ones are refused. */
export interface DatabaseRelay {
  readonly url: string;
  cut(): Promise<void>;
  restore(): Promise<void>;
  /** Hangs until `cut`: connections stay open, new ones are accepted, and no data passes. */
  hang(): void;
}

/** @param url of the test server: its `host` parameter is the directory of the socket */
export async function relayTo(url: string): Promise<DatabaseRelay> {
  const target = new URL(url);
  const path = `${target.searchParams.get('host')}/.s.PGSQL.5432`;
  const open = new Set<Socket>();
  let hangs = false;
  const make = () =>
    createServer((client) => {
      if (hangs) {
        open.add(client);
        client.on('error', () => {});
        return;
      }
      const server = dial(path);
      pipeBoth(client, server, open);
    });
  let relay = make();
  relay.listen(0, '127.0.0.1');
  await once(relay, 'listening');
  const { port } = relay.address() as AddressInfo;
  return {
    url: `postgres://uqrp@127.0.0.1:${port}${target.pathname}`,
    hang() {
      hangs = true;
      for (const socket of open) socket.unpipe().pause();
    },
    async cut() {
      hangs = false;
      relay.close();
      for (const socket of open) socket.destroy();
    },
    async restore() {
      relay = make();
      relay.listen(port, '127.0.0.1');
      await once(relay, 'listening');
    },
  };
}

/** Passes on what each of two connections sends to the other, and ends both with one. @param open has them while they are open */
export function pipeBoth(client: Socket, server: Socket, open: Set<Socket>): void {
  for (const [one, other] of [
    [client, server],
    [server, client],
  ] as const) {
    open.add(one);
    one.on('error', () => {});
    one.on('close', () => {
      open.delete(one);
      other.destroy();
    });
    one.pipe(other);
  }
}
