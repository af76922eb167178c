import { RRTYPE } from '../../../../src/protocol/dns/codes.ts';
import type { DnsName } from './cursor.ts';

/** Rdata of the types that this service answers with, and of names in general, field for field, under the names of `RDATA_LAYOUTS`. */
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
  readonly HINFO: { readonly cpu: Uint8Array; readonly os: Uint8Array };
  readonly CAA: { readonly flags: number; readonly tag: Uint8Array; readonly value: Uint8Array };
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

/** Types whose names are in lower case when they are signed (RFC 4034, section 6.2, without NSEC by RFC 6840, section 5.1). */
export const FOLDED: ReadonlySet<number> = new Set([
  RRTYPE.NS,
  RRTYPE.CNAME,
  RRTYPE.PTR,
  RRTYPE.DNAME,
  RRTYPE.MX,
  RRTYPE.SRV,
  RRTYPE.SOA,
  RRTYPE.RRSIG,
]);
