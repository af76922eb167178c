import { RRTYPE } from '../../wire/codes.ts';
import type { DnsRequest } from '../../wire/message/request.ts';
import { txtChunks } from '../../wire/rdata/txt.ts';

/** Names that operators ask in class CHAOS, and whether they ask for the program or for the node (RFC 4892 §2). */
const NAMES: ReadonlyMap<string, 'program' | 'node'> = new Map([
  ['version.bind', 'program'],
  ['version.server', 'program'],
  ['hostname.bind', 'node'],
  ['id.server', 'node'],
]);

/** What is told of the program: its name. A version would only help whoever looks for old ones. */
const PROGRAM = 'uqrp';

/** TXT rdata for a CHAOS question, or null for one that is not answered. */
export function chaosRdata(request: DnsRequest, identity: string): Uint8Array | null {
  if (request.qtype !== RRTYPE.TXT && request.qtype !== RRTYPE.ANY) return null;
  const about = NAMES.get(request.qnameLower ?? '');
  if (about === undefined) return null;
  return txtChunks(Buffer.from(about === 'program' ? PROGRAM : identity));
}
