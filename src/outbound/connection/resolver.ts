import { promises as dns } from 'node:dns';

/**
 * The addresses of a host name, IPv4 first; empty when it has none or nobody could say. Once the signal aborts it settles with
 * what it knows. Never rejects.
 */
export type Resolve = (host: string, signal: AbortSignal) => Promise<readonly string[]>;

/** Patience with one name server, milliseconds, and how often each is asked. */
const TIMEOUT_MS = 2000;
const TRIES = 1;
/** How long a resolver is used, milliseconds, and how many are kept for use. */
const RESOLVER_MS = 60_000;
const IDLE_MAX = 64;
/** Names of this very host (RFC 6761 §6.3): never asked for on the network. */
const LOCALHOST = /(?:^|\.)localhost$/;

/**
 * Asks name servers for A and AAAA. Not the system's resolver: that blocks a thread of Node's small pool, and reads
 * /etc/hosts and search lists, which have no say in where a stranger's name leads.
 *
 * @param servers literal addresses, with `:port` or `[v6]:port` where it is not 53; empty: those of /etc/resolv.conf
 */
export function makeResolve(servers: readonly string[]): Resolve {
  const take = resolverPool(servers);
  return async (name, signal) => {
    const host = name.replace(/\.$/, '').toLowerCase();
    if (LOCALHOST.test(host)) return ['127.0.0.1', '::1'];
    if (signal.aborted) return [];
    const { resolver, giveBack } = take();
    const cancel = (): void => resolver.cancel();
    signal.addEventListener('abort', cancel, { once: true });
    try {
      const found = await Promise.all([
        // The dot keeps the name from being tried below the host's own domain.
        resolver.resolve4(`${host}.`).catch(none),
        resolver.resolve6(`${host}.`).catch(none),
      ]);
      return found.flat();
    } finally {
      signal.removeEventListener('abort', cancel);
      if (!signal.aborted) giveBack();
    }
  };
}

interface Taken {
  readonly resolver: dns.Resolver;
  readonly giveBack: () => void;
}

/**
 * Resolvers that nobody uses at the moment. One lookup has one to itself, so giving up on it leaves the others alone; its sockets
 * close with it, so the next is asked from another port, which makes answers hard to forge. None remembers an answer, and
 * none lives long enough to ask the name servers of an old /etc/resolv.conf.
 */
function resolverPool(servers: readonly string[]): () => Taken {
  const idle: { resolver: dns.Resolver; bornAt: number }[] = [];
  return () => {
    const now = performance.now();
    let one = idle.pop();
    if (one === undefined || now - one.bornAt > RESOLVER_MS) {
      const resolver = new dns.Resolver({ timeout: TIMEOUT_MS, tries: TRIES });
      if (servers.length > 0) resolver.setServers(servers);
      one = { resolver, bornAt: now };
    }
    const taken = one;
    return {
      resolver: taken.resolver,
      giveBack: () => {
        if (idle.length < IDLE_MAX) idle.push(taken);
      },
    };
  };
}

function none(): string[] {
  return [];
}
