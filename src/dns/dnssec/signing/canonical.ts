/** Canonical form and order of rrsets (RFC 4034 §6). */

import { RRTYPE } from '../../../protocol/dns/codes.ts';
import { foldName } from '../../../protocol/dns/name.ts';
import { copyOctets } from '../../../protocol/dns/octets.ts';

/** Records of one owner, class and type. Rdata are in wire form, with uncompressed names. */
export interface SignableRrset {
  readonly owner: Uint8Array;
  readonly type: number;
  /** IN when absent. */
  readonly class?: number;
  /** Seconds. */
  readonly ttl: number;
  readonly rdata: readonly Uint8Array[];
}

/** The names of a type follow these octets and character strings, one after the other. */
interface Names {
  readonly head: number;
  readonly strings: number;
  readonly count: number;
}

const ONE_NAME: Names = { head: 0, strings: 0, count: 1 };
const TWO_NAMES: Names = { head: 0, strings: 0, count: 2 };
const PREFERENCE_AND_NAME: Names = { head: 2, strings: 0, count: 1 };

/** Types whose names become lower case: RFC 4034 §6.2 without NSEC (RFC 6840 §5.1), HINFO, and the unserved A6, NXT and PX. */
const FOLDED: ReadonlyMap<number, Names> = new Map<number, Names>([
  [RRTYPE.NS, ONE_NAME],
  [RRTYPE.MD, ONE_NAME],
  [RRTYPE.MF, ONE_NAME],
  [RRTYPE.CNAME, ONE_NAME],
  [RRTYPE.SOA, TWO_NAMES],
  [RRTYPE.MB, ONE_NAME],
  [RRTYPE.MG, ONE_NAME],
  [RRTYPE.MR, ONE_NAME],
  [RRTYPE.PTR, ONE_NAME],
  [RRTYPE.MINFO, TWO_NAMES],
  [RRTYPE.MX, PREFERENCE_AND_NAME],
  [RRTYPE.RP, TWO_NAMES],
  [RRTYPE.AFSDB, PREFERENCE_AND_NAME],
  [RRTYPE.RT, PREFERENCE_AND_NAME],
  [RRTYPE.SIG, { head: 18, strings: 0, count: 1 }],
  [RRTYPE.NAPTR, { head: 4, strings: 3, count: 1 }],
  [RRTYPE.KX, PREFERENCE_AND_NAME],
  [RRTYPE.SRV, { head: 6, strings: 0, count: 1 }],
  [RRTYPE.DNAME, ONE_NAME],
  [RRTYPE.RRSIG, { head: 18, strings: 0, count: 1 }],
]);

/** The rdata with the names of §6.2 in lower case; the same array for types that have none. */
export function canonicalRdata(type: number, rdata: Uint8Array): Uint8Array {
  const names = FOLDED.get(type);
  if (names === undefined) return rdata;
  const start = startOfNames(names, rdata);
  let end = start;
  for (let i = 0; i < names.count; i++) {
    while (end < rdata.length && rdata[end]! > 0) end += 1 + rdata[end]!;
    end++;
  }
  const folded = copyOctets(rdata, 0, rdata.length);
  folded.set(foldName(rdata.subarray(start, end)), start);
  return folded;
}

/** The rdata of an rrset in canonical form and order (§6.3), each once. */
export function canonicalRdatas({ type, rdata }: SignableRrset): readonly Uint8Array[] {
  if (rdata.length === 1) return [canonicalRdata(type, rdata[0]!)];
  const sorted = rdata.map((one) => canonicalRdata(type, one)).sort((a, b) => Buffer.compare(a, b));
  return sorted.filter((one, i) => i === 0 || Buffer.compare(one, sorted[i - 1]!) !== 0);
}

function startOfNames({ head, strings }: Names, rdata: Uint8Array): number {
  let at = head;
  for (let i = 0; i < strings; i++) at += 1 + (rdata[at] ?? 0);
  return Math.min(at, rdata.length);
}
