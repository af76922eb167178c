import { AUTH_PREFIX, isVersion, PUBLIC_NAMESPACE } from '../../../core/names/labels.ts';
import { DEMO_NAMESPACES } from '../../../core/names/reserved-names.ts';
import type { Transport } from '../../../core/transport.ts';
import type { DnsRequest } from '../../wire/message/request.ts';
import type { ResolveContext } from '../resolve.ts';
import type { TextRoute } from '../route.ts';

/**
 * Which caches may keep a denial:
 *   shared    this server, and resolvers for the TTL of negative answers
 *   once      resolvers only. This server signs a new one for each question, so its octets do not reveal
 *             whether the name was asked before
 *   no-store  none: it has TTL 0 as well
 */
export type DenialMemory = 'shared' | 'once' | 'no-store';

/**
 * Decides for a name by the question and by whether the namespace is open. A namespace that does not exist is one that is
 * not open. `no-store`: a name with an `auth-` label, over any transport, and over HTTP each name of a namespace that is
 * not open, because HTTP caches keep the name as a URL.
 */
export function denialMemory(
  { qname }: DnsRequest,
  to: TextRoute,
  context: Pick<ResolveContext, 'view' | 'access'>,
  transport: Transport,
): DenialMemory {
  if (to.kind === 'query' && to.query.token === null && to.query.namespace === PUBLIC_NAMESPACE) {
    return 'shared';
  }
  const labels = labelsBelow(qname, to.zone.apex);
  if (labels.some((label) => label.startsWith(AUTH_PREFIX))) return 'no-store';
  const [version, namespace] = [labels.at(-1), labels.at(-2)];
  const isShared = version === undefined || namespace === undefined || !isVersion(version);
  if (isShared || isOpen(namespace, context)) return 'shared';
  return transport === 'doh' ? 'no-store' : 'once';
}

function isOpen(namespace: string, { view, access }: Pick<ResolveContext, 'view' | 'access'>): boolean {
  if (namespace === PUBLIC_NAMESPACE) return true;
  try {
    const stored = view.namespace(namespace);
    if (stored?.suspended) return false;
    return (access.sync && stored?.publicRead === true) || (access.demo && DEMO_NAMESPACES.has(namespace));
  } catch {
    // The answer is a storage failure in any case.
    return false;
  }
}

/** The labels of a wire-form name below the apex, in lower case, a character for each octet. */
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
