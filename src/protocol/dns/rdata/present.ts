/** Rdata as master-file text (RFC 1035 §5.1, RFC 4034, RFC 8659); other types as in RFC 3597 §5. */

import { formatAddress } from '../../../base/network/address.ts';
import { RRTYPE, rrtypeName } from '../codes.ts';
import { nameToText } from '../name.ts';
import { WireReader } from '../reader.ts';
import { txtStrings } from './rdata.ts';

/** The caller checks that the reader is complete before it uses the text. */
type Renderer = (reader: WireReader) => string;

const nameOnly: Renderer = (reader) => name(reader);
const dsLike: Renderer = (r) => `${r.u16()} ${r.u8()} ${r.u8()} ${digits(r, 'hex')}`;
const dnskeyLike: Renderer = (r) => `${r.u16()} ${r.u8()} ${r.u8()} ${digits(r, 'base64')}`;
const CAA_TAG = /^[0-9A-Za-z]+$/;

/** Template literals evaluate from left to right, which is the order of the fields. */
const RENDERERS: ReadonlyMap<number, Renderer> = new Map<number, Renderer>([
  [RRTYPE.A, (r) => address(r, 4)],
  [RRTYPE.NS, nameOnly],
  [RRTYPE.CNAME, nameOnly],
  [RRTYPE.SOA, (r) => `${name(r)} ${name(r)} ${r.u32()} ${r.u32()} ${r.u32()} ${r.u32()} ${r.u32()}`],
  [RRTYPE.PTR, nameOnly],
  [RRTYPE.HINFO, (r) => `${quoted(r.characterString())} ${quoted(r.characterString())}`],
  [RRTYPE.MX, (r) => `${r.u16()} ${name(r)}`],
  [RRTYPE.TXT, txt],
  [RRTYPE.AAAA, (r) => address(r, 16)],
  [RRTYPE.SRV, (r) => `${r.u16()} ${r.u16()} ${r.u16()} ${name(r)}`],
  [RRTYPE.DNAME, nameOnly],
  [RRTYPE.DS, dsLike],
  [RRTYPE.CDS, dsLike],
  [RRTYPE.DNSKEY, dnskeyLike],
  [RRTYPE.CDNSKEY, dnskeyLike],
  [
    RRTYPE.RRSIG,
    (r) =>
      `${rrtypeName(r.u16())} ${r.u8()} ${r.u8()} ${r.u32()} ${timestamp(r.u32())} ${timestamp(r.u32())} ` +
      `${r.u16()} ${name(r)} ${digits(r, 'base64')}`,
  ],
  [RRTYPE.NSEC, (r) => `${name(r)}${typeBitmap(r)}`],
  [RRTYPE.CAA, caa],
]);

/** Zone-file text of rdata. Never throws: unknown types and invalid rdata become `\# length hex`. */
export function rdataToText(type: number, rdata: Uint8Array): string {
  const render = RENDERERS.get(type);
  if (render !== undefined) {
    const reader = new WireReader(rdata);
    const text = render(reader);
    if (reader.complete) return text;
  }
  return rdata.length === 0 ? '\\# 0' : `\\# ${rdata.length} ${hex(rdata)}`;
}

function address(reader: WireReader, length: 4 | 16): string {
  const octets = reader.bytes(length);
  return reader.failed ? '' : formatAddress(octets);
}

function name(reader: WireReader): string {
  return nameToText(reader.plainName());
}

function txt(reader: WireReader): string {
  const strings = txtStrings(reader.rest());
  if (strings === null) reader.failed = true;
  return (strings ?? []).map(quoted).join(' ');
}

function caa(reader: WireReader): string {
  const flags = reader.u8();
  const tag = Buffer.from(reader.characterString()).toString('latin1');
  // A tag of other characters could not be read back.
  if (!CAA_TAG.test(tag)) reader.failed = true;
  return `${flags} ${tag} ${quoted(reader.rest())}`;
}

/** A character string in quotes, with `\"`, `\\`, and `\DDD` for octets outside printable ASCII. */
function quoted(octets: Uint8Array): string {
  let text = '"';
  for (const octet of octets) {
    if (octet < 0x20 || octet > 0x7e) text += `\\${String(octet).padStart(3, '0')}`;
    else if (octet === 0x22 || octet === 0x5c) text += `\\${String.fromCharCode(octet)}`;
    else text += String.fromCharCode(octet);
  }
  return `${text}"`;
}

/** `YYYYMMDDHHmmSS` in UTC (RFC 4034 §3.2). */
function timestamp(seconds: number): string {
  return new Date(seconds * 1000).toISOString().replace(/[-:T]|\.000Z/g, '');
}

/** The types of an NSEC bitmap, each after a space (RFC 4034 §4.1.2). */
function typeBitmap(reader: WireReader): string {
  let text = '';
  let lastWindow = -1;
  while (reader.remaining > 0 && !reader.failed) {
    const window = reader.u8();
    const bits = reader.characterString();
    // Windows ascend and hold 1 to 32 octets.
    if (window <= lastWindow || bits.length < 1 || bits.length > 32) reader.failed = true;
    lastWindow = window;
    for (let bit = 0; bit < bits.length * 8; bit++) {
      if ((bits[bit >>> 3]! & (0x80 >>> (bit & 7))) !== 0) text += ` ${rrtypeName(window * 256 + bit)}`;
    }
  }
  return text;
}

/** The rest of the rdata. Fails when it is empty, because empty text is not a field. */
function digits(reader: WireReader, encoding: 'hex' | 'base64'): string {
  const octets = reader.rest();
  if (octets.length === 0) reader.failed = true;
  return encoding === 'hex' ? hex(octets) : Buffer.from(octets).toString('base64');
}

function hex(octets: Uint8Array): string {
  return Buffer.from(octets).toString('hex').toUpperCase();
}
