/** Code points. Source: IANA "Domain Name System (DNS) Parameters". */

const TYPES: Readonly<Record<string, number>> = {
  A: 1,
  NS: 2,
  CNAME: 5,
  SOA: 6,
  PTR: 12,
  MX: 15,
  TXT: 16,
  AAAA: 28,
  SRV: 33,
  DNAME: 39,
  OPT: 41,
  DS: 43,
  RRSIG: 46,
  NSEC: 47,
  DNSKEY: 48,
  NSEC3: 50,
  TLSA: 52,
  CDS: 59,
  CDNSKEY: 60,
  SVCB: 64,
  HTTPS: 65,
  NXNAME: 128,
  ANY: 255,
  CAA: 257,
};

const RCODES =
  'NOERROR FORMERR SERVFAIL NXDOMAIN NOTIMP REFUSED YXDOMAIN YXRRSET NXRRSET NOTAUTH NOTZONE'.split(' ');
const BADVERS = 16;

/** Purposes of the extended errors 0 to 30 (RFC 8914, section 4, and the registry). */
const EXTENDED_ERRORS = (
  'Other|Unsupported DNSKEY algorithm|Unsupported DS digest type|Stale answer|Forged answer|' +
  'DNSSEC indeterminate|DNSSEC bogus|Signature expired|Signature not yet valid|DNSKEY missing|' +
  'RRSIGs missing|No zone key bit set|NSEC missing|Cached error|Not ready|Blocked|Censored|Filtered|' +
  'Prohibited|Stale NXDOMAIN answer|Not authoritative|Not supported|No reachable authority|' +
  'Network error|Invalid data|Signature expired before valid|Too early|' +
  'Unsupported NSEC3 iterations value|Unable to conform to policy|Synthesized|Invalid query type'
).split('|');

const TYPE_NAMES: ReadonlyMap<number, string> = new Map(
  Object.entries(TYPES).map(([name, code]) => [code, name]),
);

/** `TXT`, or `TYPE65280` for a type without a name here (RFC 3597, section 5). */
export function typeName(type: number): string {
  return TYPE_NAMES.get(type) ?? `TYPE${type}`;
}

/** A type from its name in any case, or `TYPEn`. Null: not a type. */
export function typeOf(text: string): number | null {
  const upper = text.toUpperCase();
  const known = Object.hasOwn(TYPES, upper) ? TYPES[upper] : undefined;
  if (known !== undefined) return known;
  const digits = /^(?:TYPE)?([1-9][0-9]{0,4})$/.exec(upper)?.[1];
  return digits !== undefined && Number(digits) <= 0xffff ? Number(digits) : null;
}

/** `REFUSED`, or `RCODE12` for a code without a name here. */
export function rcodeName(rcode: number): string {
  return RCODES[rcode] ?? (rcode === BADVERS ? 'BADVERS' : `RCODE${rcode}`);
}

/** The registered purpose of an extended error: `Prohibited`. */
export function extendedErrorName(code: number): string {
  return EXTENDED_ERRORS[code] ?? `Extended error ${code}`;
}
