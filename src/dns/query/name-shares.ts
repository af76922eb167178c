import { randomUpTo, realRandom } from '../../base/chance.ts';
import { fnvEnd, fnvStep } from '../../base/hashes.ts';
import type { DnsRequest } from '../../protocol/dns/message/request.ts';
import { isNameAt, LOWER, MAX_LABEL_OCTETS, MAX_NAME_OCTETS } from '../../protocol/dns/name.ts';
import { HEADER_OCTETS } from '../../protocol/dns/skim.ts';
import { isVersion, PUBLIC_NAMESPACE } from '../../protocol/names/labels.ts';
import type { Query } from '../../protocol/names/query-name.ts';
import { type FreshnessCounters, isChanging } from '../../view/freshness.ts';
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

type NamespaceCounters = Pick<FreshnessCounters, 'read' | 'counterOfNamespace'>;

export interface NameSharesContext extends ResolveContext {
  readonly freshness: NamespaceCounters;
  /** Where the hash of names begins, 32 bits. Random by default, so that nobody can choose a name that shares with another one. */
  readonly namesStart?: number;
}

export interface NameShares {
  /** Whose a question is, 0 to NAME_SHARES - 1. */
  of(request: DnsRequest, to: Route, now: number): number;
  /**
   * The same from the octets alone, where the name ends in `NAMESPACE.vN.ZONE` and the namespace is known to be open: a flood at one namespace is not
   * decoded to say whose it is. @param apex of a zone, in wire form @returns -1: decode the question and ask `of`
   */
  ofOpen(packet: Uint8Array, length: number, apex: Uint8Array): number;
}

/**
 * Whose a question is, 0 to NAME_SHARES - 1: a share for each service of `public`, and for each namespace that may be read by who asks.
 *
 * A namespace that may not be read has no share of its own. So names of namespaces that do not exist cannot fill many shares, and a stranger
 * cannot learn from the room in a share how much others ask in a private namespace, nor whether there is one. What decides is what the answer shows
 * anyway: whether the namespace is open, or the token is valid.
 */
export function makeNameShares(context: NameSharesContext): NameShares {
  const { view, access, services, freshness, namesStart = randomUpTo(realRandom, 2 ** 32 - 1) } = context;
  const startOf = (kind: string): number => fnvStep(namesStart, kind.charCodeAt(0));
  const namespacesStart = startOf('namespace');
  const servicesStart = startOf('service');
  const open = new OpenNamespaces(freshness);

  function ofService(label: string): number {
    return services.has(label) ? shareOf(hashOf(servicesStart, label)) : UNSERVED;
  }

  /** @param mayRead reads the view */
  function ofNamespace(namespace: string, mayRead: () => 'all' | 'asker' | 'none'): number {
    const hash = hashOf(namespacesStart, namespace);
    if (open.has(hash, namespace)) return shareOf(hash);
    const counter = freshness.counterOfNamespace(namespace);
    const count = freshness.read(counter);
    // Between the counter and the view: what is read is as new as the counter, or newer.
    view.refresh();
    const readers = mayRead();
    if (readers === 'all' && !isChanging(count)) open.add(hash, { namespace, counter, count });
    return readers === 'none' ? REFUSED : shareOf(hash);
  }

  function ofQuery(query: Query, now: number): number {
    const { operation, resource, namespace } = query;
    if (namespace === PUBLIC_NAMESPACE) return ofService(serviceLabel(operation, resource));
    return ofNamespace(namespace, () => READERS[checkAccess(query, view, access, now).kind]);
  }

  /** Of a name that is no query: too short, or malformed. Names that resolvers with QNAME minimisation ask are among them. */
  function ofLabels(labels: readonly string[]): number {
    const [resource, namespace, version] = [labels.at(-3), labels.at(-2), labels.at(-1)];
    if (namespace === undefined || version === undefined || !isVersion(version)) return ASTRAY;
    if (namespace === PUBLIC_NAMESPACE) return resource === undefined ? UNSERVED : ofService(resource);
    return ofNamespace(namespace, () => (isOpen(namespace, context) ? 'all' : 'none'));
  }

  return {
    of({ qnameLower }, to, now) {
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
    },
    ofOpen(packet, length, apex) {
      const at = namespaceAt(packet, length, apex);
      if (at < 0) return -1;
      let hash = namespacesStart;
      for (let i = at + 1, end = i + packet[at]!; i < end; i++) hash = fnvStep(hash, LOWER[packet[i]!]!);
      return open.hasLabel(hash, packet, at) ? shareOf(hash) : -1;
    },
  };
}

const READERS = { open: 'all', demo: 'all', public: 'all', private: 'asker', refused: 'none' } as const;

function hashOf(start: number, label: string): number {
  let hash = start;
  for (let i = 0; i < label.length; i++) hash = fnvStep(hash, label.charCodeAt(i));
  return hash;
}

function shareOf(hash: number): number {
  return FIRST + (fnvEnd(hash) % (NAME_SHARES - FIRST));
}

interface OpenNamespace {
  readonly namespace: string;
  /** Of freshness, and what it was before the view was read. */
  readonly counter: number;
  readonly count: number;
}

/** Namespaces that everyone may read, by the hash of their name, each until something of it changes; as many as there are shares. */
class OpenNamespaces {
  readonly #freshness: NamespaceCounters;
  readonly #known = new Map<number, OpenNamespace>();

  constructor(freshness: NamespaceCounters) {
    this.#freshness = freshness;
  }

  add(hash: number, known: OpenNamespace): void {
    if (this.#known.size >= NAME_SHARES) this.#known.clear();
    this.#known.set(hash, known);
  }

  has(hash: number, namespace: string): boolean {
    const known = this.#known.get(hash);
    return known !== undefined && known.namespace === namespace && this.#isUnchanged(known);
  }

  /** @param at of the label's length */
  hasLabel(hash: number, packet: Uint8Array, at: number): boolean {
    const known = this.#known.get(hash);
    if (known === undefined) return false;
    const { namespace } = known;
    if (namespace.length !== packet[at]) return false;
    for (let i = 0; i < namespace.length; i++) {
      if (LOWER[packet[at + 1 + i]!] !== namespace.charCodeAt(i)) return false;
    }
    return this.#isUnchanged(known);
  }

  #isUnchanged({ counter, count }: OpenNamespace): boolean {
    return this.#freshness.read(counter) === count;
  }
}

const V = 'v'.charCodeAt(0);
const DIGIT = { one: '1'.charCodeAt(0), nine: '9'.charCodeAt(0) } as const;

/** Where the label before `vN` and the apex begins in the name that a question asks, N of one digit; -1: the name is none of these. */
function namespaceAt(packet: Uint8Array, length: number, apex: Uint8Array): number {
  let [at, version, namespace] = [HEADER_OCTETS, -1, -1];
  // The last two labels before the apex: where the end is, is known only there.
  for (const limit = Math.min(length, HEADER_OCTETS + MAX_NAME_OCTETS) - apex.length; at <= limit; ) {
    const octets = packet[at]!;
    if (octets === apex[0] && namespace >= 0 && isNameAt(packet, at, apex))
      return isOneDigit(packet, version) ? namespace : -1;
    if (octets === 0 || octets > MAX_LABEL_OCTETS) return -1;
    namespace = version;
    version = at;
    at += octets + 1;
  }
  return -1;
}

function isOneDigit(packet: Uint8Array, at: number): boolean {
  const digit = packet[at + 2]!;
  return packet[at] === 2 && LOWER[packet[at + 1]!] === V && digit >= DIGIT.one && digit <= DIGIT.nine;
}
