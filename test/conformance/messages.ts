import { decodeMessage, type Message } from '../../src/protocol/dns/message/message.ts';
import { nameFromText } from '../../src/protocol/dns/name.ts';
import { concatOctets } from '../../src/protocol/dns/octets.ts';

export const ID = 0x1a2b;
export const RD = 0x0100;

/** Octets from hex; spaces are allowed. */
export function hex(text: string): Uint8Array {
  return Uint8Array.from(Buffer.from(text.replaceAll(' ', ''), 'hex'));
}

/** Header with these flags and counts: QDCOUNT, ANCOUNT, NSCOUNT, ARCOUNT. */
export function header(flags: number, ...counts: readonly number[]): Uint8Array {
  return words(ID, flags, ...[0, 1, 2, 3].map((i) => counts[i] ?? 0));
}

export function question(name: string, type: number, qclass = 1): Uint8Array {
  return concatOctets([nameFromText(name)!, words(type, qclass)]);
}

/** An OPT record; `ttl` holds the upper bits of the rcode, the version and the flags. */
export function opt(
  options = '',
  { owner = '00', payload = 1232, ttl = '00000000' }: { owner?: string; payload?: number; ttl?: string } = {},
): Uint8Array {
  const rdata = hex(options);
  return concatOctets([hex(owner), words(41, payload), hex(ttl), words(rdata.length), rdata]);
}

/** A query with RD, and with the OPT record if given. */
export function query(name: string, type: number, edns: Uint8Array | null = null, flags = RD): Uint8Array {
  const additional = edns === null ? [] : [edns];
  return concatOctets([header(flags, 1, 0, 0, additional.length), question(name, type), ...additional]);
}

/** One EDNS option, as hex. */
export function option(code: number, data: string): string {
  return Buffer.from(concatOctets([words(code, hex(data).length), hex(data)])).toString('hex');
}

export function decoded(reply: Uint8Array): Message {
  const message = decodeMessage(reply);
  if (message === null) throw new Error('the reply does not decode');
  return message;
}

function words(...values: readonly number[]): Uint8Array {
  return Uint8Array.from(values.flatMap((value) => [value >>> 8, value & 0xff]));
}
