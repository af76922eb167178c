/** The DNS client of commands, and of the rollover of signing keys, which asks resolvers for the DS records at the parent. */
import { randomInt } from 'node:crypto';
import { createSocket, type SocketType } from 'node:dgram';
import { existsSync, readFileSync } from 'node:fs';
import { request } from 'node:https';
import { connect as connectTcp, isIP, isIPv6, type Socket } from 'node:net';
import { connect as connectTls } from 'node:tls';
import { LIMITS } from '../base/limits.ts';
import { RRTYPE } from '../protocol/dns/codes.ts';
import { decodeMessage, encodeQuery, type Message } from '../protocol/dns/message/message.ts';
import { nameFromText } from '../protocol/dns/name.ts';
import { rdataToText } from '../protocol/dns/rdata/present.ts';

/** Where to ask. */
export interface DnsServer {
  readonly host: string;
  readonly port: number;
  /** PEM certificates to trust in addition to the system's, for DoT and DoH. Null: the system's only. */
  readonly ca: string | null;
}

/** Sends one message and returns the octets of the reply. Rejects when none comes before the deadline. */
type SendQuery = (query: Uint8Array, server: DnsServer, deadlineMs: number) => Promise<Uint8Array>;

/** One query over TCP, with its two-octet length (RFC 1035 §4.2.2). */
export function exchangeTcp(query: Uint8Array, server: DnsServer, deadlineMs: number): Promise<Uint8Array> {
  return exchangeOver(connectTcp({ host: server.host, port: server.port }), 'connect', query, deadlineMs);
}

/** One query over TLS (RFC 7858). */
function exchangeTls(query: Uint8Array, server: DnsServer, deadlineMs: number): Promise<Uint8Array> {
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
function exchangeHttps(query: Uint8Array, server: DnsServer, deadlineMs: number): Promise<Uint8Array> {
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
  server: DnsServer,
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
  server: DnsServer,
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
const TRANSPORTS = {
  udp: async (query, server, deadlineMs) => {
    const reply = await exchangeUdp(query, server, deadlineMs);
    const isCut = ((reply[2] ?? 0) & 0x02) !== 0;
    return isCut ? exchangeTcp(query, server, deadlineMs) : reply;
  },
  tcp: exchangeTcp,
  dot: exchangeTls,
  doh: exchangeHttps,
} as const satisfies Record<string, SendQuery>;

export type ClientTransport = keyof typeof TRANSPORTS;

interface AskOptions {
  readonly server: DnsServer;
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

const RESOLVER_DEADLINE_MS = 3000;

/** @param configured those of UQRP_RESOLVERS; empty: the answer is those of /etc/resolv.conf */
export function resolversOf(configured: readonly string[]): readonly string[] {
  if (configured.length > 0) return configured;
  if (!existsSync('/etc/resolv.conf')) return [];
  return [...readFileSync('/etc/resolv.conf', 'utf8').matchAll(/^nameserver\s+(\S+)/gm)]
    .map(([, address]) => address!)
    .filter((address) => !(isIPv6(address) && address.includes('%')));
}

/**
 * @param server a literal address, with `:port` or `[v6]:port` where the port is not 53
 * @throws Error when no reply comes in time
 */
export function askResolver(
  server: string,
  name: string,
  type: number,
  transport: ClientTransport,
): Promise<Message> {
  const [, inBrackets, bare, port] = /^(?:\[([^\]]+)\]|([^:]+))(?::(\d+))?$/.exec(server) ?? [];
  const host = inBrackets ?? bare ?? server;
  const target = { host, port: Number(port ?? 53), ca: null };
  const qname = name === '.' ? Uint8Array.of(0) : nameFromText(name)!;
  return ask(qname, type, { server: target, transport, deadlineMs: RESOLVER_DEADLINE_MS });
}

/**
 * The DS records of a zone in presentation form without the owner, as one resolver sees them; null when it does not answer, or fails.
 * Over TCP, because a rollover acts on the answer: an answer over UDP is easier to forge.
 */
export async function dsSeenBy(server: string, zone: string): Promise<readonly string[] | null> {
  const reply = await askResolver(server, zone, RRTYPE.DS, 'tcp').catch(() => null);
  if (reply === null || reply.rcode !== 0) return null;
  return reply.answer.filter((rr) => rr.type === RRTYPE.DS).map((rr) => rdataToText(rr.type, rr.rdata));
}
