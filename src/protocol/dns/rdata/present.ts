/**
 * The fields of rdata, and rdata as master-file text (RFC 1035 §5.1, RFC 4034, RFC 8659); other types as in RFC 3597 §5. Without a module of
 * Node: the SDK takes messages apart by the same table.
 */
import { encodeBase64, encodeHex, latin1Of } from '../../encodings.ts';
import { RRTYPE, rrtypeName } from '../codes.ts';
import { nameToText } from '../name.ts';
import { WireReader } from '../reader.ts';

/**
 * `time`: seconds since 1970; `type`: an RR type; `string`: a character string; `strings`: one or more of them, to the end; `tag`: one of letters and
 * digits; `quoted`, `hex`, `base64`: the rest of the rdata, of which `quoted` may be empty.
 */
export type FieldForm =
  | ('u8' | 'u16' | 'u32' | 'type' | 'time' | 'name' | 'ipv4' | 'ipv6' | 'bitmap')
  | ('string' | 'strings' | 'tag' | 'quoted' | 'hex' | 'base64');

type Layout = readonly (readonly [field: string, form: FieldForm])[];

/** `preference u16, target name` */
function layout(text: string): Layout {
  return text.split(', ').map((field) => field.split(' ') as [string, FieldForm]);
}

const DS = layout('keyTag u16, algorithm u8, digestType u8, digest hex');
const DNSKEY = layout('keyFlags u16, protocol u8, algorithm u8, publicKey base64');
const TARGET = layout('target name');

/** The fields of each type in the order of the rdata. */
export const RDATA_LAYOUTS: ReadonlyMap<number, Layout> = new Map([
  [RRTYPE.A, layout('address ipv4')],
  [RRTYPE.NS, TARGET],
  [RRTYPE.CNAME, TARGET],
  [RRTYPE.SOA, layout('mname name, rname name, serial u32, refresh u32, retry u32, expire u32, minimum u32')],
  [RRTYPE.PTR, TARGET],
  [RRTYPE.HINFO, layout('cpu string, os string')],
  [RRTYPE.MX, layout('preference u16, target name')],
  [RRTYPE.TXT, layout('characters strings')],
  [RRTYPE.AAAA, layout('address ipv6')],
  [RRTYPE.SRV, layout('priority u16, weight u16, port u16, target name')],
  [RRTYPE.DNAME, TARGET],
  [RRTYPE.DS, DS],
  [RRTYPE.CDS, DS],
  [RRTYPE.DNSKEY, DNSKEY],
  [RRTYPE.CDNSKEY, DNSKEY],
  [
    RRTYPE.RRSIG,
    layout(
      'covered type, algorithm u8, labels u8, originalTtl u32, expiration time, inception time, keyTag u16, signer name, signature base64',
    ),
  ],
  [RRTYPE.NSEC, layout('next name, types bitmap')],
  [RRTYPE.CAA, layout('flags u8, tag tag, value quoted')],
]);

/** What a tag of CAA is made of: one of other characters could not be read back. */
export const CAA_TAG = /^[0-9A-Za-z]+$/;

/** Zone-file text of rdata. Never throws: unknown types and invalid rdata become `\# length hex`. */
export function rdataToText(type: number, rdata: Uint8Array): string {
  const fields = RDATA_LAYOUTS.get(type);
  if (fields !== undefined) {
    const reader = new WireReader(rdata);
    const texts = fields.map(([, form]) => fieldText(form, readField(reader, form)));
    if (reader.complete) return texts.join(' ').trimEnd();
  }
  return genericText(rdata);
}

export function genericText(rdata: Uint8Array): string {
  return `\\# ${rdata.length} ${encodeHex(rdata).toUpperCase()}`.trimEnd();
}

/** The caller checks that the reader is complete before it uses the value. */
function readField(reader: WireReader, form: FieldForm): unknown {
  switch (form) {
    case 'u8':
      return reader.u8();
    case 'u16':
    case 'type':
      return reader.u16();
    case 'u32':
    case 'time':
      return reader.u32();
    case 'name':
      return reader.plainName();
    case 'ipv4':
      return reader.bytes(4);
    case 'ipv6':
      return reader.bytes(16);
    case 'bitmap':
      return readTypes(reader);
    case 'string':
      return reader.characterString();
    case 'tag': {
      const tag = reader.characterString();
      if (!CAA_TAG.test(latin1Of(tag))) reader.failed = true;
      return tag;
    }
    case 'strings': {
      const strings = [reader.characterString()];
      while (reader.remaining > 0 && !reader.failed) strings.push(reader.characterString());
      return strings;
    }
    case 'quoted':
      return reader.rest();
    case 'hex':
    case 'base64':
      // Empty text is not a field.
      if (reader.remaining === 0) reader.failed = true;
      return reader.rest();
  }
}

/** The types of an NSEC bitmap (RFC 4034 §4.1.2). */
function readTypes(reader: WireReader): readonly number[] {
  const types: number[] = [];
  let last = -1;
  while (reader.remaining > 0 && !reader.failed) {
    const window = reader.u8();
    const bits = reader.characterString();
    if (!isBitmapWindow(window, last, bits.length)) reader.failed = true;
    last = window;
    types.push(...typesIn(window, bits));
  }
  return types;
}

/** Windows ascend and hold 1 to 32 octets. */
export function isBitmapWindow(window: number, last: number, length: number): boolean {
  return window > last && length >= 1 && length <= 32;
}

/** The types of one window of a bitmap. */
export function typesIn(window: number, bits: Uint8Array): readonly number[] {
  const types: number[] = [];
  for (let bit = 0; bit < bits.length * 8; bit++) {
    if ((bits[bit >>> 3]! & (0x80 >>> (bit & 7))) !== 0) types.push(window * 256 + bit);
  }
  return types;
}

/** A field as master files print it. @param value of the field's form; a name in wire form */
export function fieldText(form: FieldForm, value: unknown): string {
  switch (form) {
    case 'type':
      return rrtypeName(value as number);
    case 'time':
      // `YYYYMMDDHHmmSS` in UTC (RFC 4034 §3.2).
      return new Date((value as number) * 1000).toISOString().replace(/[-:T]|\.000Z/g, '');
    case 'name':
      return nameToText(value as Uint8Array);
    case 'ipv4':
      return (value as Uint8Array).join('.');
    case 'ipv6':
      return ipv6Text(value as Uint8Array);
    case 'string':
    case 'quoted':
      return quoted(value as Uint8Array);
    case 'strings':
      return (value as readonly Uint8Array[]).map(quoted).join(' ');
    case 'tag':
      return latin1Of(value as Uint8Array);
    case 'hex':
      return encodeHex(value as Uint8Array).toUpperCase();
    case 'base64':
      return encodeBase64(value as Uint8Array);
    case 'bitmap':
      return (value as readonly number[]).map(rrtypeName).join(' ');
    default:
      return String(value as number);
  }
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

/** RFC 5952: the URL parser shortens the longest run of zeros. An IPv4-mapped address ends in a dotted quad (§5). */
function ipv6Text(octets: Uint8Array): string {
  const isMapped = octets.subarray(0, 12).every((octet, at) => octet === (at < 10 ? 0 : 0xff));
  if (isMapped) return `::ffff:${octets.subarray(12).join('.')}`;
  const groups = Array.from({ length: 8 }, (_, at) =>
    ((octets[2 * at]! << 8) | octets[2 * at + 1]!).toString(16),
  );
  return new URL(`http://[${groups.join(':')}]`).hostname.slice(1, -1);
}
