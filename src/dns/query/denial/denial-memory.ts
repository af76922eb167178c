import type { Transport } from '../../../base/network/transport.ts';
import type { DnsRequest } from '../../../protocol/dns/message/request.ts';
import { AUTH_PREFIX, isVersion, PUBLIC_NAMESPACE } from '../../../protocol/names/labels.ts';
import { DEMO_NAMESPACES } from '../../../protocol/names/reserved-names.ts';
import type { ResolveContext } from '../resolve.ts';
import type { TextRoute } from '../route.ts';

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

function isOpen(namespace: string, { view, access }: Pick<ResolveContext, 'view' | 'access'>): boolean {
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
