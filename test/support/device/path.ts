import { createSocket, type RemoteInfo } from 'node:dgram';
import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { pipeBoth } from '../relay.ts';

/** What happens to packets between a device and its name server. */
export interface Rules {
  /** Packets that somebody on the path sends to the device before the query goes on. */
  forge?(query: Buffer): readonly Buffer[];
  /** True: the packet is lost. Queries and replies. */
  isLost?(packet: Buffer): boolean;
  /** Port to which connections go, in place of the server's. */
  readonly streamPort?: number;
}

export interface NetworkPath {
  readonly port: number;
  /** Queries over UDP, and connections. */
  readonly counts: { queries: number; streams: number };
  /** Ids and source ports of the queries. */
  readonly seen: { id: number; port: number }[];
  rules: Rules;
  close(): void;
}

/** UDP and TCP of one port, in front of a name server on this machine. */
export async function startPath(serverPort: number, rules: Rules = {}): Promise<NetworkPath> {
  const front = createSocket('udp4');
  front.bind(0, '127.0.0.1');
  await once(front, 'listening');
  const { port } = front.address();
  const open = new Set<Socket>();
  const path: NetworkPath = {
    port,
    counts: { queries: 0, streams: 0 },
    seen: [],
    rules,
    close() {
      front.close();
      streams.close();
      for (const socket of open) socket.destroy();
    },
  };
  const toDevice = (packet: Buffer, device: RemoteInfo): void =>
    front.send(packet, device.port, device.address);
  front.on('message', (query, device) => {
    path.counts.queries++;
    path.seen.push({ id: query.readUInt16BE(0), port: device.port });
    for (const packet of path.rules.forge?.(query) ?? []) toDevice(packet, device);
    if (path.rules.isLost?.(query) === true) return;
    const back = createSocket('udp4');
    const done = (): void => void back.close();
    const timer = setTimeout(done, 5_000);
    timer.unref();
    back.once('message', (reply) => {
      clearTimeout(timer);
      if (path.rules.isLost?.(reply) !== true) toDevice(reply, device);
      done();
    });
    back.unref();
    back.send(query, serverPort, '127.0.0.1');
  });
  const streams = createServer((device) => {
    path.counts.streams++;
    const server = connect(path.rules.streamPort ?? serverPort, '127.0.0.1');
    pipeBoth(device, server, open);
  });
  streams.listen(port, '127.0.0.1');
  await once(streams, 'listening');
  return path;
}

/** A name server of an attacker: over TCP it answers each query with what `answer` makes of it. @returns its port */
export async function startForger(
  answer: (query: Buffer) => Buffer,
): Promise<{ port: number; close(): void }> {
  const server = createServer((socket) => {
    socket.on('error', () => {});
    let got = Buffer.alloc(0);
    socket.on('data', (chunk: Buffer) => {
      got = Buffer.concat([got, chunk]);
      if (got.length < 2 || got.length < 2 + got.readUInt16BE(0)) return;
      const reply = answer(got.subarray(2));
      const length = Buffer.alloc(2);
      length.writeUInt16BE(reply.length);
      socket.end(Buffer.concat([length, reply]));
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return { port: (server.address() as AddressInfo).port, close: () => void server.close() };
}

/** A name server that sends an octet of its reply every 100 ms, and never ends. */
export async function startTrickle(): Promise<{ port: number; close(): void }> {
  const open = new Set<Socket>();
  const server = createServer((socket) => {
    open.add(socket);
    const timer = setInterval(() => socket.write(Buffer.from([12])), 100);
    socket.on('error', () => {});
    socket.on('close', () => clearInterval(timer));
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const close = (): void => {
    server.close();
    for (const socket of open) socket.destroy();
  };
  return { port: (server.address() as AddressInfo).port, close };
}
