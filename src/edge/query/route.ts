import type { EnvelopeErrorCode } from '../../core/errors.ts';
import { DATASETS_RESOURCE, PUBLIC_NAMESPACE } from '../../core/labels.ts';
import type { Operation, Query } from '../../core/query.ts';
import { parseQueryName } from '../../core/query-name.ts';
import { CLASS, RRTYPE } from '../wire/codes.ts';
import { labelCount } from '../wire/name.ts';
import type { DnsRequest } from '../wire/request.ts';
import { findZone, type Rrset, type Zone } from './zones.ts';

/** Where a request leads, judged by its question alone: nothing stored has been looked at. */
export type Route =
  /** Outside our zones or our class: not ours to answer. */
  | { readonly kind: 'outside' }
  /** A zone transfer: refused. */
  | { readonly kind: 'transfer'; readonly zone: Zone }
  /** A record of the zone itself. */
  | { readonly kind: 'own'; readonly zone: Zone; readonly rrset: Rrset }
  /** A name in the zone without records of the type asked for. */
  | { readonly kind: 'nodata'; readonly zone: Zone }
  | { readonly kind: 'malformed'; readonly zone: Zone; readonly code: EnvelopeErrorCode }
  | { readonly kind: 'refused'; readonly zone: Zone }
  | { readonly kind: 'query'; readonly zone: Zone; readonly query: Query };

const OUTSIDE: Route = { kind: 'outside' };

/** Labels of the shortest query below a zone (specification, Query name structure). */
const SHORTEST = 4;

const DATASET_OPERATIONS: ReadonlySet<Operation> = new Set(['manifest', 'identity']);

/**
 * Routes a request. The order of the rules matters: resolvers that minimise names ask for every suffix with any type, so
 * only a full-length TXT question can be malformed (decisions, section 5; RFC 9156).
 */
export function route(request: DnsRequest, zones: readonly Zone[]): Route {
  if (request.qclass !== CLASS.IN) return OUTSIDE;
  const zone = findZone(request.qname, zones);
  if (zone === null) return OUTSIDE;
  if (request.qtype === RRTYPE.AXFR || request.qtype === RRTYPE.IXFR) return { kind: 'transfer', zone };

  const below = nameBelow(request.qnameLower, zone);
  const own = below === null ? undefined : zone.own.get(below);
  const rrset = own?.get(request.qtype);
  if (rrset !== undefined) return { kind: 'own', zone, rrset };
  if (own !== undefined || request.qtype !== RRTYPE.TXT) return { kind: 'nodata', zone };
  if (below === null) {
    const labels = labelCount(request.qname) - labelCount(zone.apex);
    return labels < SHORTEST ? { kind: 'nodata', zone } : { kind: 'malformed', zone, code: 'E001' };
  }
  const parsed = parseQueryName(below);
  if (parsed.kind === 'short') return { kind: 'nodata', zone };
  if (parsed.kind === 'malformed') return { kind: 'malformed', zone, code: parsed.code };
  return fit(parsed.query, zone);
}

/** Whether the operation fits the resource and the namespace, before anyone looks at what is stored. */
function fit(query: Query, zone: Zone): Route {
  const { operation, resource, namespace } = query;
  const open = namespace === PUBLIC_NAMESPACE;
  if (resource === DATASETS_RESOURCE) {
    // Reserved in every namespace; a valid token changes nothing (specification, Datasets).
    const served = open && query.version === 'v1' && DATASET_OPERATIONS.has(operation);
    return served ? { kind: 'query', zone, query } : { kind: 'refused', zone };
  }
  if (DATASET_OPERATIONS.has(operation)) return { kind: 'malformed', zone, code: 'E002' };
  if (operation === 'geoip' && !(open && resource.startsWith('ip-'))) {
    return { kind: 'malformed', zone, code: 'E002' };
  }
  if (operation === 'info' && !open) return { kind: 'refused', zone };
  return { kind: 'query', zone, query };
}

/** The part of a lower-case name below the zone, '' at the apex; null for a name with octets outside `[a-z0-9_-]`. */
function nameBelow(qname: string | null, zone: Zone): string | null {
  if (qname === null) return null;
  return qname.length === zone.text.length ? '' : qname.slice(0, -zone.text.length - 1);
}
