import { randomUpTo, realRandom } from '../../base/chance.ts';
import { fnvEnd, fnvStep } from '../../base/hashes.ts';
import type { DnsRequest } from '../../protocol/dns/message/request.ts';
import { isVersion, PUBLIC_NAMESPACE } from '../../protocol/names/labels.ts';
import type { Query } from '../../protocol/names/query-name.ts';
import { isOpen } from './denial.ts';
import { serviceLabel } from './operations.ts';
import { checkAccess, type ResolveContext } from './resolve.ts';
import type { Route } from './route.ts';

/** Number of shares of names: a namespace shares with one that is flooded once in so many. */
export const NAME_SHARES = 4096;

/** Of what has no name, or one that is not ours. */
export const NAMELESS = 0;
/** Of names of the zone itself. */
const OWN = 1;
/** Of names in a zone that are in no namespace. */
const ASTRAY = 2;
/** Of names below `public` that no service has. */
const UNSERVED = 3;
/** Of all questions that the namespace does not allow, together, whether it exists or not. */
const REFUSED = 4;
/** The first share of those that namespaces and services have. */
const FIRST = 8;

export interface NameSharesContext extends ResolveContext {
  /** Where the hash of names begins, 32 bits. Random by default, so that nobody can choose a name that shares with another one. */
  readonly namesStart?: number;
}

/**
 * Whose a question is, 0 to NAME_SHARES - 1: a share for each service of `public`, and for each namespace that may be read by who asks.
 *
 * A namespace that may not be read has no share of its own. So names of namespaces that do not exist cannot fill many shares, and a stranger
 * cannot learn from the room in a share how much others ask in a private namespace, nor whether there is one. What decides is what the answer shows
 * anyway: whether the namespace is open, or the token is valid.
 */
export function makeNameShares(
  context: NameSharesContext,
): (request: DnsRequest, to: Route, now: number) => number {
  const { view, access, services, namesStart = randomUpTo(realRandom, 2 ** 32 - 1) } = context;

  function shareOf(kind: string, label: string): number {
    let hash = fnvStep(namesStart, kind.charCodeAt(0));
    for (let i = 0; i < label.length; i++) hash = fnvStep(hash, label.charCodeAt(i));
    return FIRST + (fnvEnd(hash) % (NAME_SHARES - FIRST));
  }

  function ofService(label: string): number {
    return services.has(label) ? shareOf('service', label) : UNSERVED;
  }

  function ofQuery(query: Query, now: number): number {
    const { operation, resource, namespace } = query;
    if (namespace === PUBLIC_NAMESPACE) return ofService(serviceLabel(operation, resource));
    const isRefused = checkAccess(query, view, access, now).kind === 'refused';
    return isRefused ? REFUSED : shareOf('namespace', namespace);
  }

  /** Of a name that is no query: too short, or malformed. Names that resolvers with QNAME minimisation ask are among them. */
  function ofLabels(labels: readonly string[]): number {
    const [resource, namespace, version] = [labels.at(-3), labels.at(-2), labels.at(-1)];
    if (namespace === undefined || version === undefined || !isVersion(version)) return ASTRAY;
    if (namespace === PUBLIC_NAMESPACE) return resource === undefined ? UNSERVED : ofService(resource);
    return isOpen(namespace, context) ? shareOf('namespace', namespace) : REFUSED;
  }

  return ({ qnameLower }, to, now) => {
    if (to.kind === 'zoneRecord') return OWN;
    if (to.kind !== 'text' && to.kind !== 'other') return NAMELESS;
    try {
      const { text, zone } = to;
      if (text.kind === 'query') return ofQuery(text.query, now);
      return qnameLower === null ? ASTRAY : ofLabels(qnameLower.slice(0, -zone.text.length - 1).split('.'));
    } catch {
      // The view could not be read.
      return NAMELESS;
    }
  };
}
