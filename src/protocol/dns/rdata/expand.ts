/** Decompresses names in rdata, so that a record is valid outside its message (RFC 3597 §4). */

import { RRTYPE } from '../codes.ts';
import { concatOctets } from '../octets.ts';
import { WireReader } from '../reader.ts';

/** Fixed octets, then character strings, names, and fixed octets or the rest. */
interface Layout {
  readonly head: number;
  readonly strings: number;
  readonly names: number;
  readonly tail: number | 'rest';
}

const ONE_NAME: Layout = { head: 0, strings: 0, names: 1, tail: 0 };
const TWO_NAMES: Layout = { head: 0, strings: 0, names: 2, tail: 0 };
const PREFERENCE_AND_NAME: Layout = { head: 2, strings: 0, names: 1, tail: 0 };

/** The types of RFC 1035 and RFC 3597 §4. Names in other types are never compressed. */
const COMPRESSIBLE: ReadonlyMap<number, Layout> = new Map([
  [RRTYPE.NS, ONE_NAME],
  [RRTYPE.MD, ONE_NAME],
  [RRTYPE.MF, ONE_NAME],
  [RRTYPE.CNAME, ONE_NAME],
  [RRTYPE.SOA, { head: 0, strings: 0, names: 2, tail: 20 }],
  [RRTYPE.MB, ONE_NAME],
  [RRTYPE.MG, ONE_NAME],
  [RRTYPE.MR, ONE_NAME],
  [RRTYPE.PTR, ONE_NAME],
  [RRTYPE.MINFO, TWO_NAMES],
  [RRTYPE.MX, PREFERENCE_AND_NAME],
  [RRTYPE.RP, TWO_NAMES],
  [RRTYPE.AFSDB, PREFERENCE_AND_NAME],
  [RRTYPE.RT, PREFERENCE_AND_NAME],
  [RRTYPE.SIG, { head: 18, strings: 0, names: 1, tail: 'rest' }],
  [RRTYPE.PX, { head: 2, strings: 0, names: 2, tail: 0 }],
  [RRTYPE.NXT, { head: 0, strings: 0, names: 1, tail: 'rest' }],
  [RRTYPE.SRV, { head: 6, strings: 0, names: 1, tail: 0 }],
  [RRTYPE.NAPTR, { head: 4, strings: 3, names: 1, tail: 0 }],
]);

/**
 * The rdata at `[start, end)` without compression. Null when a type with names does not parse. Other types and empty
 * rdata (RFC 2136 §2.4) are copied.
 */
export function expandRdata(
  type: number,
  message: Uint8Array,
  start: number,
  end: number,
): Uint8Array | null {
  const reader = new WireReader(message, start, end);
  const layout = COMPRESSIBLE.get(type);
  if (layout === undefined || start === end) return reader.rest();
  const parts = [reader.bytes(layout.head)];
  for (let i = 0; i < layout.strings; i++) {
    const text = reader.characterString();
    parts.push(Uint8Array.of(text.length), text);
  }
  for (let i = 0; i < layout.names; i++) parts.push(reader.name());
  parts.push(layout.tail === 'rest' ? reader.rest() : reader.bytes(layout.tail));
  return reader.complete ? concatOctets(parts) : null;
}
