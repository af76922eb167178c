import { CLASS, RRTYPE } from '../../protocol/dns/codes.ts';
import type { DnsRequest } from '../../protocol/dns/message/request.ts';
import { labelCount } from '../../protocol/dns/name.ts';
import { DATASETS_RESOURCE, PUBLIC_NAMESPACE } from '../../protocol/names/labels.ts';
import { parseQueryName, type Query } from '../../protocol/names/query-name.ts';
import type { EnvelopeErrorCode } from '../../protocol/query/envelope.ts';
import { isCaseSensitive } from '../../protocol/query/params.ts';
import { checkOperation } from './operations.ts';
import { findZone, type Rrset, type ServedZone, type Zone } from './zones.ts';

/** Result of routing a TXT question by its name alone. */
export type TextRoute =
  /** Too short to be a query: sent by resolvers with QNAME minimisation. */
  | { readonly kind: 'short'; readonly zone: ServedZone; readonly below: string | null }
  /** `query`: what was asked, where only the operation does not fit; it is counted and not answered. */
  | {
      readonly kind: 'malformed';
      readonly zone: ServedZone;
      readonly code: EnvelopeErrorCode;
      readonly query?: Query;
    }
  | { readonly kind: 'refused'; readonly zone: ServedZone; readonly query: Query }
  | { readonly kind: 'query'; readonly zone: ServedZone; readonly below: string; readonly query: Query };

/** Result of routing by the question alone, before any stored data is read. */
export type Route =
  /** Outside our zones or our class: REFUSED. */
  | { readonly kind: 'outside' }
  /** A zone transfer: refused. */
  | { readonly kind: 'transfer' }
  /** A type that cannot be queried (RFC 6895 §3.1, RFC 9824 §3.5). */
  | { readonly kind: 'unaskable'; readonly isNxname: boolean }
  /** A name of the zone itself. `rrset`: of the queried type, or the first one for ANY and RRSIG. */
  | {
      readonly kind: 'zoneRecord';
      readonly zone: ServedZone;
      readonly rrset: Rrset | null;
      readonly types: readonly number[];
    }
  | { readonly kind: 'text'; readonly zone: ServedZone; readonly text: TextRoute }
  /** Another type at a name where only TXT can be. `text`: the route of a TXT question. */
  | { readonly kind: 'other'; readonly zone: ServedZone; readonly qtype: number; readonly text: TextRoute };

const OUTSIDE: Route = { kind: 'outside' };
const TRANSFER: Route = { kind: 'transfer' };

const SHORTEST = 4;

const TRANSFERS: ReadonlySet<number> = new Set([RRTYPE.AXFR, RRTYPE.IXFR]);
const UNASKABLE: ReadonlySet<number> = new Set([0, RRTYPE.OPT, RRTYPE.TSIG, RRTYPE.TKEY, RRTYPE.NXNAME]);

/**
 * Routes a request. The order matters: resolvers with QNAME minimisation query every suffix with any type (RFC 9156),
 * so only a full-length TXT question can be malformed.
 */
export function route(request: DnsRequest, zones: readonly ServedZone[]): Route {
  const { qtype, qname, qnameLower } = request;
  if (request.qclass !== CLASS.IN) return OUTSIDE;
  const zone = findZone(qname, zones);
  if (zone === null) return OUTSIDE;
  if (TRANSFERS.has(qtype)) return TRANSFER;
  if (UNASKABLE.has(qtype)) return { kind: 'unaskable', isNxname: qtype === RRTYPE.NXNAME };
  const below = nameBelow(qnameLower, zone);
  const rrsets = below === null ? undefined : zone.rrsets.get(below);
  if (rrsets !== undefined) return zoneRecordRoute(zone, rrsets, qtype);
  const text = textRoute(qname, below, zone);
  return qtype === RRTYPE.TXT ? { kind: 'text', zone, text } : { kind: 'other', zone, qtype, text };
}

/** ANY gets one rrset of the name (RFC 8482 §4.1); RRSIG gets the signatures of that rrset. */
function zoneRecordRoute(zone: ServedZone, rrsets: ReadonlyMap<number, Rrset>, qtype: number): Route {
  const isOfAny = qtype === RRTYPE.ANY || qtype === RRTYPE.RRSIG;
  const rrset = isOfAny ? rrsets.values().next().value : rrsets.get(qtype);
  return {
    kind: 'zoneRecord',
    zone,
    rrset: rrset ?? null,
    types: [...rrsets.keys(), RRTYPE.RRSIG, RRTYPE.NSEC],
  };
}

function textRoute(qname: Uint8Array, below: string | null, zone: ServedZone): TextRoute {
  if (below === null) {
    const labels = labelCount(qname) - labelCount(zone.apex);
    return labels < SHORTEST ? { kind: 'short', zone, below } : { kind: 'malformed', zone, code: 'E001' };
  }
  const parsed = parseQueryName(below);
  if (parsed.kind === 'short') return { kind: 'short', zone, below };
  if (parsed.kind === 'malformed') return { kind: 'malformed', zone, code: parsed.code };
  const query = withLetters(parsed.query, qname);
  const check = checkOperation(query);
  if (check === 'query') return { kind: 'query', zone, below, query };
  return check === 'refused'
    ? { kind: 'refused', zone, query }
    : { kind: 'malformed', zone, code: check, query };
}

/** The lower-case part below the zone, '' at the apex; null for octets outside `[a-z0-9_-]`. */
function nameBelow(qname: string | null, zone: Zone): string | null {
  if (qname === null) return null;
  return qname.length === zone.text.length ? '' : qname.slice(0, -zone.text.length - 1);
}

/** Whether the answer depends on letter case (`b64-` labels). The packet cache ignores case, so it must not store these. */
export function dependsOnLetters({ namespace, resource, params }: Query): boolean {
  // Slugs and item keys have no capitals; a slug may begin like an encoded label.
  if (resource === DATASETS_RESOURCE) return false;
  return namespace === PUBLIC_NAMESPACE && params.some(isCaseSensitive);
}

/** The query with its `b64-` labels in the letter case of `qname`. */
function withLetters(query: Query, qname: Uint8Array): Query {
  if (!dependsOnLetters(query)) return query;
  const labels = labelsOf(qname);
  const first = query.token === null ? 1 : 2;
  const params = query.params.map((label, i) => (isCaseSensitive(label) ? labels[first + i]! : label));
  return { ...query, params };
}

function labelsOf(qname: Uint8Array): readonly string[] {
  const labels: string[] = [];
  for (let at = 0; qname[at]! > 0; at += 1 + qname[at]!) {
    labels.push(Buffer.from(qname.subarray(at + 1, at + 1 + qname[at]!)).toString('latin1'));
  }
  return labels;
}
