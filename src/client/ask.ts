import { randomInt } from 'node:crypto';
import { LIMITS } from '../core/limits.ts';
import { decodeMessage, type Message } from '../edge/wire/message/message.ts';
import { encodeQuery } from '../edge/wire/message/query.ts';
import { exchangeUdp } from './datagram.ts';
import { exchangeHttps } from './https.ts';
import type { Exchange, Server } from './server.ts';
import { exchangeTcp, exchangeTls } from './stream.ts';

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
