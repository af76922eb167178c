import type { Transport } from '../../base/network/transport.ts';
import { RRTYPE } from '../../protocol/dns/codes.ts';
import type { DnsRequest } from '../../protocol/dns/message/request.ts';
import {
  AUTH_PREFIX,
  isLabel,
  isVersion,
  PUBLIC_NAMESPACE,
  PUBLIC_VERSION,
} from '../../protocol/names/labels.ts';
import { DEMO_NAMESPACES } from '../../protocol/names/namespace-name.ts';
import type { Outcome } from '../../protocol/query/outcome.ts';
import { isServed } from './operations.ts';
import type { ResolveContext } from './resolve.ts';
import type { TextRoute } from './route.ts';

/**
 * What an NSEC record says of a name. `text`: a TXT record. `closed`: refused or malformed. `between`: an empty non-
 * terminal. `absent`: nothing here or below. `closed` does not depend on whether a record is stored.
 */
export type NameState = 'text' | 'closed' | 'between' | 'absent';

const TYPES: Readonly<Record<NameState, readonly number[]>> = {
  text: [RRTYPE.TXT, RRTYPE.RRSIG, RRTYPE.NSEC],
  closed: [RRTYPE.RRSIG, RRTYPE.NSEC],
  between: [RRTYPE.RRSIG, RRTYPE.NSEC],
  absent: [RRTYPE.RRSIG, RRTYPE.NSEC, RRTYPE.NXNAME],
};

/** Types of the NSEC record (RFC 9824 §3). They must match the TXT answer, or resolvers deny the record (RFC 8198). */
export function typesOf(state: NameState): readonly number[] {
  return TYPES[state];
}

/** The state of a full-length `name`, which is the part below the zone in lower case. */
export function stateOfOutcome(
  outcome: Outcome,
  name: string,
  { view }: Pick<ResolveContext, 'view'>,
): NameState {
  if (outcome.kind === 'answer') return 'text';
  if (outcome.kind !== 'empty') return 'closed';
  return view.anyBelow(name) ? 'between' : 'absent';
}

/**
 * The state of a name too short to be a query; null: it has octets that no query name has. A name below a namespace
 * that is not open is never `absent`, so the state does not reveal which namespaces exist.
 */
export function stateOfShort(name: string | null, context: ResolveContext): NameState {
  const labels = name === null ? [] : name.split('.');
  const version = labels.at(-1);
  const namespace = labels.at(-2);
  const resource = labels.at(-3);
  if (version === undefined || !isVersion(version)) return 'absent';
  if (namespace === undefined) return 'between';
  if (!isLabel(namespace) || namespace.startsWith(AUTH_PREFIX)) return 'absent';
  if (namespace === PUBLIC_NAMESPACE) return stateOfPublic(resource, version, context);
  if (resource === undefined) return 'between';
  if (!isLabel(resource) || resource.startsWith(AUTH_PREFIX)) return 'absent';
  const stored = context.view.namespace(namespace);
  const isOpen = context.access.sync && stored?.publicRead && !stored.suspended;
  return !isOpen || context.view.anyBelow(name!) ? 'between' : 'absent';
}

function stateOfPublic(
  resource: string | undefined,
  version: string,
  { services }: ResolveContext,
): NameState {
  if (resource === undefined) return version === PUBLIC_VERSION ? 'between' : 'absent';
  return isServed(resource, version, services) ? 'between' : 'absent';
}

/**
 * Caches that may keep a denial. `shared`: this server and resolvers. `once`: resolvers only, because a shared
 * signature reveals that the name was asked before. `no-store`: none (TTL 0).
 */
export type DenialMemory = 'shared' | 'once' | 'no-store';

/**
 * `no-store`: names with an `auth-` label, and over HTTP all names of namespaces that are not open, because HTTP caches
 * keep names as URLs. A missing namespace counts as not open.
 */
export function denialMemory(
  { qname }: DnsRequest,
  to: TextRoute,
  context: Pick<ResolveContext, 'view' | 'access'>,
  transport: Transport,
): DenialMemory {
  if (to.kind === 'query') {
    if (to.query.token !== null) return 'no-store';
    return memoryOf(to.query.namespace, context, transport);
  }
  const labels = labelsBelow(qname, to.zone.apex);
  if (labels.some((label) => label.startsWith(AUTH_PREFIX))) return 'no-store';
  const [version, namespace] = [labels.at(-1), labels.at(-2)];
  if (version === undefined || namespace === undefined || !isVersion(version)) return 'shared';
  return memoryOf(namespace, context, transport);
}

function memoryOf(
  namespace: string,
  context: Pick<ResolveContext, 'view' | 'access'>,
  transport: Transport,
): DenialMemory {
  if (isOpen(namespace, context)) return 'shared';
  return transport === 'doh' ? 'no-store' : 'once';
}

/** Whether everyone may read the namespace, which its answers show. */
export function isOpen(
  namespace: string,
  { view, access }: Pick<ResolveContext, 'view' | 'access'>,
): boolean {
  if (namespace === PUBLIC_NAMESPACE) return true;
  try {
    const stored = view.namespace(namespace);
    if (stored?.suspended) return false;
    return (access.sync && stored?.publicRead === true) || (access.demo && DEMO_NAMESPACES.has(namespace));
  } catch {
    // The answer is a storage failure in both cases.
    return false;
  }
}

/** The labels of a wire name below the apex, in lower case, one character per octet. */
function labelsBelow(qname: Uint8Array, apex: Uint8Array): readonly string[] {
  const labels: string[] = [];
  for (let at = 0; qname.length - at > apex.length; at += 1 + qname[at]!) {
    labels.push(
      Buffer.from(qname.subarray(at + 1, at + 1 + qname[at]!))
        .toString('latin1')
        .toLowerCase(),
    );
  }
  return labels;
}
