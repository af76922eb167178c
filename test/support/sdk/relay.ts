import { createSocket, type Socket } from 'node:dgram';
import { once } from 'node:events';

/** Passes datagrams on to a DNS server, until it is closed. Its port is free then: a client sees ECONNREFUSED. */
interface Relay {
  readonly port: number;
  close(): Promise<void>;
}

/** @param port where the relay listens; 0: any */
export async function openRelay(target: number, port = 0): Promise<Relay> {
  const inner = createSocket('udp4');
  const outgoing = new Set<Socket>();
  inner.on('message', (query, client) => {
    const socket = createSocket('udp4');
    outgoing.add(socket);
    socket.once('message', (answer) => {
      outgoing.delete(socket);
      socket.close();
      inner.send(answer, client.port, client.address);
    });
    socket.send(query, target, '127.0.0.1');
  });
  inner.bind(port, '127.0.0.1');
  await once(inner, 'listening');
  return {
    port: inner.address().port,
    close: async () => {
      for (const socket of outgoing) socket.close();
      outgoing.clear();
      const closed = once(inner, 'close');
      inner.close();
      await closed;
    },
  };
}
