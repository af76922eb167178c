/** Asks the resolvers of this machine, or those of UQRP_RESOLVERS. */
import { existsSync, readFileSync } from 'node:fs';
import { isIPv6 } from 'node:net';
import { RRTYPE } from '../../protocol/dns/codes.ts';
import type { Message } from '../../protocol/dns/message/message.ts';
import { nameFromText } from '../../protocol/dns/name.ts';
import { rdataToText } from '../../protocol/dns/rdata/present.ts';
import { ask, type ClientTransport } from './ask.ts';

const DEADLINE_MS = 3000;

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
  return ask(qname, type, { server: target, transport, deadlineMs: DEADLINE_MS });
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
