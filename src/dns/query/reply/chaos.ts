import { RRTYPE } from '../../../protocol/dns/codes.ts';
import type { DnsRequest } from '../../../protocol/dns/message/request.ts';
import { txtChunks } from '../../../protocol/dns/rdata/txt.ts';

/** Names in class CHAOS: whether they ask for the program or for the node (RFC 4892 §2). */
const NAMES: ReadonlyMap<string, 'program' | 'node'> = new Map([
  ['version.bind', 'program'],
  ['version.server', 'program'],
  ['hostname.bind', 'node'],
  ['id.server', 'node'],
]);

/** `version.bind` gets no version number, which would help to find vulnerable servers. */
const PROGRAM = 'uqrp';

/** TXT rdata for a CHAOS question, or null for one that is not answered. */
export function chaosRdata(request: DnsRequest, identity: string): Uint8Array | null {
  if (request.qtype !== RRTYPE.TXT && request.qtype !== RRTYPE.ANY) return null;
  const about = NAMES.get(request.qnameLower ?? '');
  if (about === undefined) return null;
  return txtChunks(Buffer.from(about === 'program' ? PROGRAM : identity));
}
