import type { DnsName } from './dns-name.ts';

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
