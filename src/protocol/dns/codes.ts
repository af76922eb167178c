/** Code points of the protocol. Source: IANA "Domain Name System (DNS) Parameters". */

import { namesOf, parseRrtype, RCODE, RRTYPE, rcodeName, rrtypeName } from '../dns-codes.ts';

export { parseRrtype, RCODE, RRTYPE, rcodeName, rrtypeName };

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
