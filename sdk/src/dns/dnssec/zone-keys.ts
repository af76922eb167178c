import { nameToText } from '../../../../src/protocol/dns/name.ts';
import { encodeHex } from '../../../../src/protocol/encodings.ts';
import type { DnsName } from '../message/cursor.ts';
import { type DnsMessage, recordsIn } from '../message/message.ts';
import { type ResourceRecord, rdataOf } from '../message/record.ts';
import { digestedOctets } from './canonical.ts';

/** A public key of a zone. */
export interface ZoneKey {
  /** RFC 4034, appendix B. */
  readonly tag: number;
  readonly algorithm: number;
  /** The secure entry point bit: a key that the parent's DS names. */
  readonly isEntryPoint: boolean;
  readonly publicKey: Uint8Array;
  /** Rdata of the DNSKEY record. */
  readonly rdata: Uint8Array;
}

/** The digest of a key that the parent zone publishes (RFC 4034, section 5; RFC 4509). */
export interface DelegationSigner {
  readonly tag: number;
  readonly algorithm: number;
  /** 2: SHA-256. */
  readonly digestType: number;
  /** Upper-case hexadecimal. */
  readonly digest: string;
  /** Line of a master file: `uqrp.net. IN DS 12345 13 2 0A1B...`. */
  readonly text: string;
}

const ZONE_KEY = 0x0100;
const ENTRY_POINT = 0x0001;
const REVOKED = 0x0080;
const PROTOCOL = 3;
const SHA_256 = 2;

/** The zone's keys in an answer to a DNSKEY question, without revoked ones and those of other protocols. */
export function zoneKeysOf(message: DnsMessage): readonly ZoneKey[] {
  return recordsIn(message, 'answer').flatMap((record) => {
    const key = rdataOf(record, 'DNSKEY');
    if (key === null || key.protocol !== PROTOCOL) return [];
    if ((key.keyFlags & ZONE_KEY) === 0 || (key.keyFlags & REVOKED) !== 0) return [];
    return [
      {
        tag: keyTag(record.canonical),
        algorithm: key.algorithm,
        isEntryPoint: (key.keyFlags & ENTRY_POINT) !== 0,
        publicKey: key.publicKey,
        rdata: record.canonical,
      },
    ];
  });
}

/** RFC 4034, appendix B. @param rdata of a DNSKEY record */
export function keyTag(rdata: Uint8Array): number {
  let sum = 0;
  for (const [at, octet] of rdata.entries()) sum += at % 2 === 0 ? octet << 8 : octet;
  return (sum + (sum >>> 16)) & 0xffff;
}

/** The DS record of a key, by SHA-256. Needs WebCrypto. */
export async function dsOf(zone: DnsName, key: ZoneKey): Promise<DelegationSigner> {
  const octets = await crypto.subtle.digest('SHA-256', digestedOctets(zone, key.rdata));
  const digest = encodeHex(new Uint8Array(octets)).toUpperCase();
  const { tag, algorithm } = key;
  const text = `${nameToText(zone.wire)} IN DS ${tag} ${algorithm} ${SHA_256} ${digest}`;
  return { tag, algorithm, digestType: SHA_256, digest, text };
}

/** DS records from lines of a master file, or from what `dig +short DS` prints. Other lines are left out. */
export function readDs(text: string): readonly Omit<DelegationSigner, 'text'>[] {
  return text.split('\n').flatMap((line) => {
    const [, tag, algorithm, digestType, digest = ''] =
      /(?:^|\sDS\s+)\s*(\d{1,5})\s+(\d{1,3})\s+(\d{1,3})\s+([0-9A-Fa-f\s]+)$/.exec(line.trim()) ?? [];
    if (tag === undefined) return [];
    return [
      {
        tag: Number(tag),
        algorithm: Number(algorithm),
        digestType: Number(digestType),
        digest: digest.replace(/\s/g, '').toUpperCase(),
      },
    ];
  });
}

/** Records of the same owner, type, class and section. */
export function rrsetOf(
  message: DnsMessage,
  { section, owner }: ResourceRecord,
  type: number,
): readonly ResourceRecord[] {
  const text = owner.text.toLowerCase();
  return message.records.filter(
    (record) =>
      record.section === section && record.type === type && record.owner.text.toLowerCase() === text,
  );
}
