/** The octets that a signature covers (RFC 4034, sections 3.1.8.1 and 6). */

import { foldName } from '../../../../src/protocol/dns/name.ts';
import { encodeHex } from '../../../../src/protocol/encodings.ts';
import type { DnsName } from '../message/cursor.ts';
import type { RdataFields } from '../message/rdata.ts';
import type { ResourceRecord } from '../message/record.ts';

/** Octets of an RRSIG before the name of the signer. */
const SIGNATURE_HEAD = 18;

/**
 * @param signature rdata of the RRSIG record
 * @param rrset records of one owner, type and class
 */
export function signedOctets(
  { canonical, fields }: { readonly canonical: Uint8Array; readonly fields: RdataFields['RRSIG'] },
  rrset: readonly ResourceRecord[],
): Uint8Array<ArrayBuffer> {
  const parts: Uint8Array[] = [
    canonical.subarray(0, SIGNATURE_HEAD + fields.signer.wire.length),
    ...inOrder(rrset.map((record) => record.canonical)).flatMap((rdata) => {
      const [first] = rrset;
      return first === undefined ? [] : [...headOf(first, fields.originalTtl, rdata.length), rdata];
    }),
  ];
  return joined(parts);
}

/** Name of the zone and rdata of a key: what a DS record is the digest of (RFC 4034, section 5.1.4). */
export function digestedOctets(zone: DnsName, dnskey: Uint8Array): Uint8Array<ArrayBuffer> {
  return joined([foldName(zone.wire), dnskey]);
}

function headOf(record: ResourceRecord, ttl: number, length: number): readonly Uint8Array[] {
  const fixed = new DataView(new ArrayBuffer(10));
  fixed.setUint16(0, record.type);
  fixed.setUint16(2, record.class);
  fixed.setUint32(4, ttl);
  fixed.setUint16(8, length);
  return [foldName(record.owner.wire), new Uint8Array(fixed.buffer)];
}

/** Rdata as left-aligned octets in ascending order, each once (RFC 4034, section 6.3): the order of their hexadecimal text. */
function inOrder(rdata: readonly Uint8Array[]): readonly Uint8Array[] {
  const distinct = new Map(rdata.map((one) => [encodeHex(one), one]));
  return [...distinct].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, one]) => one);
}

function joined(parts: readonly Uint8Array[]): Uint8Array<ArrayBuffer> {
  return Uint8Array.from(parts.flatMap((part) => [...part]));
}
