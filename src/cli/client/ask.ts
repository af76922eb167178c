import { randomInt } from 'node:crypto';
import { createSocket, type SocketType } from 'node:dgram';
import { request } from 'node:https';
import { connect as connectTcp, isIP, isIPv6, type Socket } from 'node:net';
import { connect as connectTls } from 'node:tls';
import { LIMITS } from '../../base/limits.ts';
import { decodeMessage, type Message } from '../../protocol/dns/message/message.ts';
import { encodeQuery } from '../../protocol/dns/message/query.ts';
import type { Exchange, Server } from './server.ts';

/** One query over TCP, with its two-octet length (RFC 1035 §4.2.2). */
export function exchangeTcp(query: Uint8Array, server: Server, deadlineMs: number): Promise<Uint8Array> {
  return exchangeOver(connectTcp({ host: server.host, port: server.port }), 'connect', query, deadlineMs);
}

/** One query over TLS (RFC 7858). */
function exchangeTls(query: Uint8Array, server: Server, deadlineMs: number): Promise<Uint8Array> {
  const { host, port, ca } = server;
  const socket = connectTls({ host, port, ALPNProtocols: ['dot'], ...(ca === null ? {} : { ca }) });
  return exchangeOver(socket, 'secureConnect', query, deadlineMs);
}

function exchangeOver(
  socket: Socket,
  ready: string,
  query: Uint8Array,
  deadlineMs: number,
): Promise<Uint8Array> {
  return new Promise((resolve, reject) => {
    let held = Buffer.alloc(0);
    const timer = setTimeout(
      () => socket.destroy(new DOMException('no reply over TCP in time', 'TimeoutError')),
      deadlineMs,
    );
    socket.once(ready, () => {
      const framed = Buffer.alloc(2 + query.length);
      framed.writeUInt16BE(query.length);
      framed.set(query, 2);
      socket.write(framed);
    });
    socket.on('data', (chunk: Buffer) => {
      held = Buffer.concat([held, chunk]);
      if (held.length < 2 || held.length < 2 + held.readUInt16BE()) return;
      resolve(held.subarray(2, 2 + held.readUInt16BE()));
      socket.end();
    });
    socket.once('error', reject);
    socket.once('close', () => {
      clearTimeout(timer);
      reject(new Error('the connection closed without a reply'));
    });
  });
}

/** One query over HTTPS, by POST so that the name stays out of URLs and their logs (RFC 8484 §4.1). */
function exchangeHttps(query: Uint8Array, server: Server, deadlineMs: number): Promise<Uint8Array> {
  return new Promise((resolve, reject) => {
    const { host, port, ca } = server;
    const outgoing = request(
      {
        host,
        port,
        method: 'POST',
        path: '/dns-query',
        signal: AbortSignal.timeout(deadlineMs),
        ...(ca === null ? {} : { ca }),
        headers: {
          host: `${isIPv6(host) ? `[${host}]` : host}:${port}`,
          'content-type': 'application/dns-message',
          accept: 'application/dns-message',
          'content-length': query.length,
        },
      },
      (incoming) => {
        const chunks: Buffer[] = [];
        incoming.on('data', (chunk: Buffer) => chunks.push(chunk));
        incoming.once('error', reject);
        incoming.once('end', () => {
          if (incoming.statusCode === 200) resolve(Buffer.concat(chunks));
          else reject(new Error(`HTTP status ${incoming.statusCode}`));
        });
      },
    );
    outgoing.once('error', reject);
    outgoing.end(query);
  });
}

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

/** The ways to ask. `udp` asks again over TCP when the reply is cut short (RFC 7766 §5). */
export const TRANSPORTS = {
  udp: async (query, server, deadlineMs) => {
    const reply = await exchangeUdp(query, server, deadlineMs);
    const isCut = ((reply[2] ?? 0) & 0x02) !== 0;
    return isCut ? exchangeTcp(query, server, deadlineMs) : reply;
  },
  tcp: exchangeTcp,
  dot: exchangeTls,
  doh: exchangeHttps,
} as const satisfies Record<string, Exchange>;

export type ClientTransport = keyof typeof TRANSPORTS;

export interface AskOptions {
  readonly server: Server;
  readonly transport: ClientTransport;
  readonly deadlineMs: number;
  readonly dnssecOk?: boolean;
}

/**
 * Asks one question.
 * @param qname wire form
 * @throws Error when no reply comes in time, or the reply does not belong to the question
 */
export async function ask(qname: Uint8Array, qtype: number, options: AskOptions): Promise<Message> {
  const id = options.transport === 'doh' ? 0 : randomInt(65_536);
  const query = encodeQuery(qname, qtype, {
    id,
    rd: true,
    edns: { payload: LIMITS.udpPayload, dnssecOk: options.dnssecOk ?? false },
  });
  const reply = decodeMessage(await TRANSPORTS[options.transport](query, options.server, options.deadlineMs));
  if (reply === null || !reply.qr || reply.id !== id)
    throw new Error('the reply does not belong to the question');
  return reply;
}
