import { rrtypeName } from '../../../../src/protocol/dns/codes.ts';
import { encodeBase64, encodeHex } from '../../../../src/protocol/encodings.ts';
import { type DnsName, escaped } from './cursor.ts';

/** Rdata of the types that this service answers with, and of names in general, field for field. */
export interface RdataFields {
  readonly A: { readonly address: Uint8Array };
  readonly AAAA: { readonly address: Uint8Array };
  readonly NS: { readonly target: DnsName };
  readonly CNAME: { readonly target: DnsName };
  readonly PTR: { readonly target: DnsName };
  readonly DNAME: { readonly target: DnsName };
  readonly MX: { readonly preference: number; readonly target: DnsName };
  readonly SRV: {
    readonly priority: number;
    readonly weight: number;
    readonly port: number;
    readonly target: DnsName;
  };
  readonly SOA: {
    readonly mname: DnsName;
    readonly rname: DnsName;
    readonly serial: number;
    readonly refresh: number;
    readonly retry: number;
    readonly expire: number;
    readonly minimum: number;
  };
  readonly TXT: { readonly characters: readonly Uint8Array[] };
  readonly DS: DsFields;
  readonly CDS: DsFields;
  readonly DNSKEY: DnskeyFields;
  readonly CDNSKEY: DnskeyFields;
  readonly RRSIG: {
    /** Type of the signed records. */
    readonly covered: number;
    readonly algorithm: number;
    readonly labels: number;
    readonly originalTtl: number;
    /** Seconds since 1970, modulo 2^32. */
    readonly expiration: number;
    readonly inception: number;
    readonly keyTag: number;
    readonly signer: DnsName;
    readonly signature: Uint8Array;
  };
  readonly NSEC: { readonly next: DnsName; readonly types: readonly number[] };
}

interface DsFields {
  readonly keyTag: number;
  readonly algorithm: number;
  readonly digestType: number;
  readonly digest: Uint8Array;
}

interface DnskeyFields {
  readonly keyFlags: number;
  readonly protocol: number;
  readonly algorithm: number;
  readonly publicKey: Uint8Array;
}

export type RdataType = keyof RdataFields;

/** The form of a field. `time`: seconds since 1970; `type`: an RR type; `hex`, `base64`: the rest of the rdata. */
export type FieldForm =
  | 'u8'
  | 'u16'
  | 'u32'
  | 'type'
  | 'time'
  | 'name'
  | 'address'
  | 'strings'
  | 'hex'
  | 'base64'
  | 'bitmap';

export type Layout = readonly (readonly [field: string, form: FieldForm])[];

const DS: Layout = [
  ['keyTag', 'u16'],
  ['algorithm', 'u8'],
  ['digestType', 'u8'],
  ['digest', 'hex'],
];
const DNSKEY: Layout = [
  ['keyFlags', 'u16'],
  ['protocol', 'u8'],
  ['algorithm', 'u8'],
  ['publicKey', 'base64'],
];
const TARGET: Layout = [['target', 'name']];
const ADDRESS: Layout = [['address', 'address']];

/** The fields of each type in the order of the rdata, under the names of `RdataFields`. */
export const LAYOUTS: Readonly<Record<RdataType, Layout>> = {
  A: ADDRESS,
  AAAA: ADDRESS,
  NS: TARGET,
  CNAME: TARGET,
  PTR: TARGET,
  DNAME: TARGET,
  MX: [['preference', 'u16'], ...TARGET],
  SRV: [['priority', 'u16'], ['weight', 'u16'], ['port', 'u16'], ...TARGET],
  SOA: [
    ['mname', 'name'],
    ['rname', 'name'],
    ['serial', 'u32'],
    ['refresh', 'u32'],
    ['retry', 'u32'],
    ['expire', 'u32'],
    ['minimum', 'u32'],
  ],
  TXT: [['characters', 'strings']],
  DS,
  CDS: DS,
  DNSKEY,
  CDNSKEY: DNSKEY,
  RRSIG: [
    ['covered', 'type'],
    ['algorithm', 'u8'],
    ['labels', 'u8'],
    ['originalTtl', 'u32'],
    ['expiration', 'time'],
    ['inception', 'time'],
    ['keyTag', 'u16'],
    ['signer', 'name'],
    ['signature', 'base64'],
  ],
  NSEC: [
    ['next', 'name'],
    ['types', 'bitmap'],
  ],
};

/** Types whose names are in lower case when they are signed (RFC 4034, section 6.2, without NSEC by RFC 6840, section 5.1). */
export const FOLDED: ReadonlySet<string> = new Set<RdataType>([
  'NS',
  'CNAME',
  'PTR',
  'DNAME',
  'MX',
  'SRV',
  'SOA',
  'RRSIG',
]);

/** A field as master files print it. @param value of the field's form */
export function fieldText(form: FieldForm, value: unknown): string {
  switch (form) {
    case 'type':
      return rrtypeName(value as number);
    case 'time':
      return timeText(value as number);
    case 'name':
      return absolute(value as DnsName);
    case 'address':
      return addressText(value as Uint8Array);
    case 'strings':
      return (value as readonly Uint8Array[]).map(quoted).join(' ');
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

/** With the dot at the end. */
export function absolute({ text }: DnsName): string {
  return text === '.' ? text : `${text}.`;
}

/** A character string in quotes. */
export function quoted(octets: Uint8Array): string {
  return `"${escaped(octets, '"\\', 0x20)}"`;
}

/** `20261122200405` (RFC 4034, section 3.2). */
function timeText(seconds: number): string {
  return new Date(seconds * 1000).toISOString().replace(/\.\d+Z$|[-:T]/g, '');
}

function addressText(octets: Uint8Array): string {
  if (octets.length === 4) return octets.join('.');
  const groups = Array.from({ length: 8 }, (_, at) =>
    (((octets[2 * at] ?? 0) << 8) | (octets[2 * at + 1] ?? 0)).toString(16),
  );
  // The URL parser shortens the longest run of zeros (RFC 5952).
  return new URL(`http://[${groups.join(':')}]`).hostname.slice(1, -1);
}
