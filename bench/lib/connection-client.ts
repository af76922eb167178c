/** The clients of `connections.ts`, in a process of their own: `connection-client.ts PORT dot|doh NAME`. */
import { once } from 'node:events';
import { type ClientHttp2Session, connect as connectHttp2 } from 'node:http2';
import { type ConnectionOptions, connect, type TLSSocket } from 'node:tls';
import { encodeQuery } from '../../src/protocol/dns/message/message.ts';
import { nameFromText } from '../../src/protocol/dns/name.ts';

const [port, part, name] = process.argv.slice(2) as [string, string, string];
const TXT = 16;
const AT_ONCE = 32;
const query = encodeQuery(nameFromText(name)!, TXT, {
  id: 1,
  rd: false,
  edns: { payload: 1232, dnssecOk: true },
});
const target = `/dns-query?dns=${Buffer.from(query).toString('base64url')}`;
interface Connection {
  ask(): Promise<unknown>;
  readonly socket: TLSSocket;
}

const connections: Connection[] = [];

async function connectOne(index: number): Promise<Connection> {
  const options: ConnectionOptions & { localAddress: string } = {
    host: '127.0.0.1',
    port: Number(port),
    // Some servers limit the connections of one address.
    localAddress: `127.0.${1 + (Math.floor(index / 50) % 250)}.1`,
    rejectUnauthorized: false,
    ALPNProtocols: [part === 'dot' ? 'dot' : 'h2'],
  };
  const socket = connect(options);
  socket.on('error', () => socket.destroy());
  await once(socket, 'secureConnect');
  return part === 'dot' ? overTls(socket) : overHttp2(socket);
}

function overTls(socket: TLSSocket): Connection {
  const framed = Buffer.concat([Buffer.of(query.length >> 8, query.length & 0xff), query]);
  let settle: (value?: unknown) => void = () => {};
  socket.on('data', () => settle());
  socket.on('close', () => settle());
  return {
    socket,
    ask: () =>
      new Promise((resolve) => {
        settle = resolve;
        if (socket.destroyed) resolve(undefined);
        else socket.write(framed);
      }),
  };
}

function overHttp2(socket: TLSSocket): Connection {
  const session: ClientHttp2Session = connectHttp2('https://localhost', { createConnection: () => socket });
  session.on('error', () => socket.destroy());
  return {
    socket,
    ask: async () => {
      if (session.destroyed || session.closed) return;
      const stream = session.request({ ':path': target, accept: 'application/dns-message' });
      stream.on('error', () => stream.close());
      stream.resume();
      await new Promise((resolve) => stream.once('close', resolve));
    },
  };
}

async function open(count: number): Promise<void> {
  let next = 0;
  const worker = async (): Promise<void> => {
    while (next < count) {
      // A connection that was refused is missing from the count.
      const connection = await connectOne(next++).catch(() => null);
      await connection?.ask();
      if (connection !== null) connections.push(connection);
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, worker));
}

async function obey(message: { open?: number; close?: boolean; count?: boolean }): Promise<void> {
  if (message.open !== undefined) await open(message.open);
  if (message.close === true) for (const { socket } of connections.splice(0)) socket.destroy();
  process.send!(connections.filter(({ socket }) => !socket.destroyed).length);
}

process.on('message', (message: Parameters<typeof obey>[0]) => void obey(message));
