/** Code points of DNS and their names, for the server, the SDK and the dashboard. */

/** RR types, meta and query types (RFC 6895 §3.1): they share the number space. */
export const RRTYPE = {
  A: 1,
  NS: 2,
  MD: 3,
  MF: 4,
  CNAME: 5,
  SOA: 6,
  MB: 7,
  MG: 8,
  MR: 9,
  NULL: 10,
  WKS: 11,
  PTR: 12,
  HINFO: 13,
  MINFO: 14,
  MX: 15,
  TXT: 16,
  RP: 17,
  AFSDB: 18,
  X25: 19,
  ISDN: 20,
  RT: 21,
  NSAP: 22,
  'NSAP-PTR': 23,
  SIG: 24,
  KEY: 25,
  PX: 26,
  GPOS: 27,
  AAAA: 28,
  LOC: 29,
  NXT: 30,
  EID: 31,
  NIMLOC: 32,
  SRV: 33,
  ATMA: 34,
  NAPTR: 35,
  KX: 36,
  CERT: 37,
  A6: 38,
  DNAME: 39,
  SINK: 40,
  OPT: 41,
  APL: 42,
  DS: 43,
  SSHFP: 44,
  IPSECKEY: 45,
  RRSIG: 46,
  NSEC: 47,
  DNSKEY: 48,
  DHCID: 49,
  NSEC3: 50,
  NSEC3PARAM: 51,
  TLSA: 52,
  SMIMEA: 53,
  HIP: 55,
  NINFO: 56,
  RKEY: 57,
  TALINK: 58,
  CDS: 59,
  CDNSKEY: 60,
  OPENPGPKEY: 61,
  CSYNC: 62,
  ZONEMD: 63,
  SVCB: 64,
  HTTPS: 65,
  DSYNC: 66,
  HHIT: 67,
  BRID: 68,
  SPF: 99,
  UINFO: 100,
  UID: 101,
  GID: 102,
  UNSPEC: 103,
  NID: 104,
  L32: 105,
  L64: 106,
  LP: 107,
  EUI48: 108,
  EUI64: 109,
  NXNAME: 128,
  TKEY: 249,
  TSIG: 250,
  IXFR: 251,
  AXFR: 252,
  MAILB: 253,
  MAILA: 254,
  ANY: 255,
  URI: 256,
  CAA: 257,
  AVC: 258,
  DOA: 259,
  AMTRELAY: 260,
  RESINFO: 261,
  WALLET: 262,
  CLA: 263,
  IPN: 264,
  TA: 32768,
  DLV: 32769,
} as const satisfies Record<string, number>;

/** Response codes (RFC 6895 §2.3). Above 15 they need an OPT record for their upper eight bits. */
export const RCODE = {
  NOERROR: 0,
  FORMERR: 1,
  SERVFAIL: 2,
  NXDOMAIN: 3,
  NOTIMP: 4,
  REFUSED: 5,
  YXDOMAIN: 6,
  YXRRSET: 7,
  NXRRSET: 8,
  NOTAUTH: 9,
  NOTZONE: 10,
  DSOTYPENI: 11,
  BADVERS: 16,
  BADKEY: 17,
  BADTIME: 18,
  BADMODE: 19,
  BADNAME: 20,
  BADALG: 21,
  BADTRUNC: 22,
  BADCOOKIE: 23,
} as const satisfies Record<string, number>;

const RRTYPE_BY_NAME: ReadonlyMap<string, number> = new Map(Object.entries(RRTYPE));
const RRTYPE_NAMES = namesOf(RRTYPE);
const RCODE_NAMES = namesOf(RCODE);
const NUMBERED = /^(?:TYPE)?(0|[1-9][0-9]{0,4})$/;

/** A table of code points by their number. */
export function namesOf(table: Readonly<Record<string, number>>): ReadonlyMap<number, string> {
  return new Map(Object.entries(table).map(([name, code]) => [code, name]));
}

/** The mnemonic of an RR type, or `TYPE666` where it has none (RFC 3597 §5). */
export function rrtypeName(type: number): string {
  return RRTYPE_NAMES.get(type) ?? `TYPE${type}`;
}

/** An RR type from its mnemonic in any case, `TYPEn` (RFC 3597 §5) or plain digits, 1 to 65535; else null. */
export function parseRrtype(text: string): number | null {
  const upper = text.replace(/[a-z]/g, (letter) => letter.toUpperCase());
  const known = RRTYPE_BY_NAME.get(upper);
  if (known !== undefined) return known;
  const digits = NUMBERED.exec(upper)?.[1];
  if (digits === undefined) return null;
  const type = Number(digits);
  return type >= 1 && type <= 0xffff ? type : null;
}

/** The mnemonic of a response code, or `RCODE99` where it has none. */
export function rcodeName(rcode: number): string {
  return RCODE_NAMES.get(rcode) ?? `RCODE${rcode}`;
}

/** Classes (RFC 6895 §3.2). */
export const CLASS = { IN: 1, CH: 3, HS: 4, NONE: 254, ANY: 255 } as const satisfies Record<string, number>;

/** Opcodes (RFC 6895 §2.2). */
export const OPCODE = {
  QUERY: 0,
  IQUERY: 1,
  STATUS: 2,
  NOTIFY: 4,
  UPDATE: 5,
  DSO: 6,
} as const satisfies Record<string, number>;

/** EDNS option codes (RFC 6891 §9). */
export const EDNS_OPTION = {
  LLQ: 1,
  NSID: 3,
  DAU: 5,
  DHU: 6,
  N3U: 7,
  ECS: 8,
  EXPIRE: 9,
  COOKIE: 10,
  KEEPALIVE: 11,
  PADDING: 12,
  CHAIN: 13,
  KEY_TAG: 14,
  EDE: 15,
  REPORT_CHANNEL: 18,
  ZONEVERSION: 19,
} as const satisfies Record<string, number>;

/** Extended error INFO-CODEs (RFC 8914 §4, with the later ones of the IANA registry). */
export const EDE = {
  OTHER: 0,
  UNSUPPORTED_DNSKEY_ALGORITHM: 1,
  UNSUPPORTED_DS_DIGEST_TYPE: 2,
  STALE_ANSWER: 3,
  FORGED_ANSWER: 4,
  DNSSEC_INDETERMINATE: 5,
  DNSSEC_BOGUS: 6,
  SIGNATURE_EXPIRED: 7,
  SIGNATURE_NOT_YET_VALID: 8,
  DNSKEY_MISSING: 9,
  RRSIGS_MISSING: 10,
  NO_ZONE_KEY_BIT_SET: 11,
  NSEC_MISSING: 12,
  CACHED_ERROR: 13,
  NOT_READY: 14,
  BLOCKED: 15,
  CENSORED: 16,
  FILTERED: 17,
  PROHIBITED: 18,
  STALE_NXDOMAIN_ANSWER: 19,
  NOT_AUTHORITATIVE: 20,
  NOT_SUPPORTED: 21,
  NO_REACHABLE_AUTHORITY: 22,
  NETWORK_ERROR: 23,
  INVALID_DATA: 24,
  SIGNATURE_EXPIRED_BEFORE_VALID: 25,
  TOO_EARLY: 26,
  UNSUPPORTED_NSEC3_ITERATIONS_VALUE: 27,
  UNABLE_TO_CONFORM_TO_POLICY: 28,
  SYNTHESIZED: 29,
  INVALID_QUERY_TYPE: 30,
} as const satisfies Record<string, number>;

const EDE_NAMES = namesOf(EDE);

/** The name of an extended error in the spelling of `EDE`, or `EDE99` where it has none. */
export function edeName(infoCode: number): string {
  return EDE_NAMES.get(infoCode) ?? `EDE${infoCode}`;
}

/** The registered purpose of an extended error: `Prohibited`, `NSEC missing`. */
export function extendedErrorName(infoCode: number): string {
  const name = EDE_NAMES.get(infoCode);
  if (name === undefined) return `Extended error ${infoCode}`;
  const words = name
    .toLowerCase()
    .replaceAll('_', ' ')
    .replace(/\b(?:ds|dnskey|dnssec|nsec3?|nxdomain|rrsig)(?=s?\b)/g, (word) => word.toUpperCase());
  return words.charAt(0).toUpperCase() + words.slice(1);
}

/** DNSSEC algorithms that we sign with and verify (RFC 8624 §3.1). */
export const DNSSEC_ALGORITHM = { ECDSAP256SHA256: 13, ED25519: 15 } as const satisfies Record<
  string,
  number
>;
