/** Canonical form and order of rrsets (RFC 4034 §6), as they are signed. */

import { RRTYPE } from '../../wire/codes.ts';
import { foldName } from '../../wire/name.ts';
import { copyOctets } from '../../wire/octets.ts';

/** Records of one owner, class and type. Rdata in wire form, names in them uncompressed. */
export interface SignableRrset {
  readonly owner: Uint8Array;
  readonly type: number;
  /** IN when absent. */
  readonly class?: number;
  /** Seconds. */
  readonly ttl: number;
  readonly rdata: readonly Uint8Array[];
}

/** Where the names of a type are: after this many octets and character strings, one after the other. */
interface Names {
  readonly head: number | ((rdata: Uint8Array) => number);
  readonly strings: number;
  readonly count: number;
}

const ONE_NAME: Names = { head: 0, strings: 0, count: 1 };
const TWO_NAMES: Names = { head: 0, strings: 0, count: 2 };
const PREFERENCE_AND_NAME: Names = { head: 2, strings: 0, count: 1 };

/** The types whose names are put in lower case: the list of RFC 4034 §6.2, less NSEC (RFC 6840 §5.1) and HINFO, which has none. */
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
  [RRTYPE.PX, { head: 2, strings: 0, count: 2 }],
  [RRTYPE.NXT, ONE_NAME],
  [RRTYPE.NAPTR, { head: 4, strings: 3, count: 1 }],
  [RRTYPE.KX, PREFERENCE_AND_NAME],
  [RRTYPE.SRV, { head: 6, strings: 0, count: 1 }],
  [RRTYPE.DNAME, ONE_NAME],
  // A prefix length, and the octets of the address that it leaves over (RFC 2874 §3.1).
  [RRTYPE.A6, { head: (rdata) => 1 + Math.ceil((128 - rdata[0]!) / 8), strings: 0, count: 1 }],
  [RRTYPE.RRSIG, { head: 18, strings: 0, count: 1 }],
]);

/** The rdata with the names that §6.2 lists in lower case; the very same array for types that have none. */
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
  let at = typeof head === 'number' ? head : head(rdata);
  for (let i = 0; i < strings; i++) at += 1 + (rdata[at] ?? 0);
  return Math.min(at, rdata.length);
}
