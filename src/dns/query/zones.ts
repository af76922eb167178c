import type { NameServer } from '../../base/network/address.ts';
import { RRTYPE } from '../../protocol/dns/codes.ts';
import { isSubdomain, nameFromText } from '../../protocol/dns/name.ts';
import { aaaaRdata, aRdata, nsRdata, soaRdata } from '../../protocol/dns/rdata/rdata.ts';
import {
  HEADER_OCTETS,
  MIN_UDP_PAYLOAD,
  OPT_OCTETS,
  OPTION_HEADER_OCTETS,
  QUESTION_OCTETS,
  RECORD_OCTETS,
} from '../../protocol/dns/skim.ts';

/** Records of one owner and type. Rdata in wire form, names in them uncompressed. */
export interface Rrset {
  readonly owner: Uint8Array;
  readonly type: number;
  /** Seconds. */
  readonly ttl: number;
  readonly rdata: readonly Uint8Array[];
}

export interface Zone {
  /** Lower-case text without trailing dot: `uqrp.net`. */
  readonly text: string;
  readonly apex: Uint8Array;
  readonly soa: Rrset;
  readonly ns: Rrset;
  /** Rrsets of the zone itself, by lower-case name below it (`''` is the apex), then by type. */
  readonly rrsets: ReadonlyMap<string, ReadonlyMap<number, Rrset>>;
  /** Addresses of the name servers, for the additional section of an NS answer: as many as fit in the least UDP reply. */
  readonly glue: readonly Rrset[];
}

/** Seconds. TTL and MINIMUM of the SOA are equal, so positive and negative answers agree (RFC 2308 §3). */
const NEGATIVE_TTL = 60;
const STABLE_TTL = 3600;

/** Makes the zone `text`. The serial is constant because transfers are refused. `keys`: DNSKEY, CDS and CDNSKEY rrsets. */
export function makeZone(text: string, servers: readonly NameServer[], keys: readonly Rrset[] = []): Zone {
  const apex = wireName(text);
  const hosts = servers.map(({ label }) => wireName(`${label}.${text}`));
  const soa = rrset(apex, RRTYPE.SOA, NEGATIVE_TTL, [
    soaRdata({
      mname: hosts[0]!,
      rname: wireName(`hostmaster.${text}`),
      serial: 1,
      refresh: 14_400,
      retry: 3600,
      expire: 1_209_600,
      minimum: NEGATIVE_TTL,
    }),
  ]);
  const ns = rrset(apex, RRTYPE.NS, STABLE_TTL, hosts.map(nsRdata));
  const addresses = servers.flatMap(({ addresses }, i) => addressRrsets(hosts[i]!, addresses));
  const rrsets = new Map<string, Map<number, Rrset>>([['', byType([soa, ns, ...keys])]]);
  for (const [i, { label }] of servers.entries()) {
    rrsets.set(label, byType(addresses.filter(({ owner }) => owner === hosts[i])));
  }
  return { text, apex, soa, ns, rrsets, glue: fittingGlue(ns, addresses) };
}

/** A client cookie and that of the server (RFC 9018 §3). */
const COOKIE_OCTETS = 24;
/** An owner that ends the question's name. */
const POINTER_OCTETS = 2;
const OPT_WITH_COOKIE = OPT_OCTETS + OPTION_HEADER_OCTETS + COOKIE_OCTETS;

/**
 * The rrsets that fit beside the question, NS and OPT into the reply of every client. Addresses are extra data: without them
 * the answer is whole, and TC is for an answer that is not (RFC 2181 §9).
 */
function fittingGlue(ns: Rrset, addresses: readonly Rrset[]): readonly Rrset[] {
  const question = HEADER_OCTETS + ns.owner.length + QUESTION_OCTETS;
  let left = MIN_UDP_PAYLOAD - question - octetsOf(ns, POINTER_OCTETS) - OPT_WITH_COOKIE;
  return addresses.filter((set) => {
    const octets = octetsOf(set, set.owner.length);
    if (octets > left) return false;
    left -= octets;
    return true;
  });
}

function octetsOf({ rdata }: Rrset, owner: number): number {
  return rdata.reduce((octets, { length }) => octets + owner + RECORD_OCTETS + length, 0);
}

/** The zone that contains a name, or null. The configuration refuses nested zones. */
export function findZone<Z extends Zone>(qname: Uint8Array, zones: readonly Z[]): Z | null {
  for (const zone of zones) {
    if (isSubdomain(qname, zone.apex)) return zone;
  }
  return null;
}

function addressRrsets(owner: Uint8Array, addresses: readonly string[]): readonly Rrset[] {
  const v4 = addresses.filter((address) => !address.includes(':')).map((text) => known(aRdata(text)));
  const v6 = addresses.filter((address) => address.includes(':')).map((text) => known(aaaaRdata(text)));
  return [rrset(owner, RRTYPE.A, STABLE_TTL, v4), rrset(owner, RRTYPE.AAAA, STABLE_TTL, v6)].filter(
    ({ rdata }) => rdata.length > 0,
  );
}

function byType(rrsets: readonly Rrset[]): Map<number, Rrset> {
  return new Map(rrsets.map((set) => [set.type, set]));
}

function rrset(owner: Uint8Array, type: number, ttl: number, rdata: readonly Uint8Array[]): Rrset {
  return { owner, type, ttl, rdata };
}

function wireName(text: string): Uint8Array {
  return known(nameFromText(text));
}

/** The configuration is already checked, so null is a programming error. */
function known<T>(value: T | null): T {
  if (value === null) throw new RangeError('not a name or an address');
  return value;
}

export interface Signatures {
  readonly rrsigs: readonly Uint8Array[];
  /** Milliseconds since the epoch at which new signatures replace these. Caches must not keep them longer. */
  readonly renewAt: number;
  readonly isFresh: boolean;
}

/** Signs online for one zone with one state of its keys. Throws when it cannot sign. */
export interface ZoneSigner {
  /** `once`: neither reads nor fills the cache of signatures. */
  sign(rrset: Rrset, once: boolean): Signatures;
  /** NSEC rdata at `qname`. The next name is its direct successor (RFC 9824 §2). */
  nsec(qname: Uint8Array, types: readonly number[]): Uint8Array;
}

/** `unsigned` is a setting of the operator. */
type Signing = { readonly kind: 'unsigned' } | { readonly kind: 'signed'; readonly signer: ZoneSigner };

/** A zone with its signer. A waiting query holds both, so a reload cannot remove its signer. */
export interface ServedZone extends Zone {
  readonly signing: Signing;
}

export function unsignedZone(zone: Zone): ServedZone {
  return { ...zone, signing: { kind: 'unsigned' } };
}

export function signedZone(zone: Zone, signer: ZoneSigner): ServedZone {
  return { ...zone, signing: { kind: 'signed', signer } };
}
