import { promises as dns } from 'node:dns';

/** Addresses of a host, IPv4 first; empty on any failure. After an abort it resolves with those found. Never rejects. */
export type Resolve = (host: string, signal: AbortSignal) => Promise<readonly string[]>;

/** Milliseconds for one name server, and queries to each. */
const TIMEOUT_MS = 2000;
const TRIES = 1;
/** Milliseconds that a resolver is reused, and idle resolvers kept. */
const RESOLVER_MS = 60_000;
const IDLE_MAX = 64;
/** Never queried on the network (RFC 6761 §6.3). */
const LOCALHOST = /(?:^|\.)localhost$/;

/**
 * Queries A and AAAA. `getaddrinfo` would block a thread of Node's small pool, and apply /etc/hosts and search lists.
 * @param servers literal addresses, with `:port` or `[v6]:port` if it is not 53; empty: those of /etc/resolv.conf
 */
export function makeResolve(servers: readonly string[]): Resolve {
  const take = resolverPool(servers);
  return async (name, signal) => {
    const host = name.replace(/\.$/, '').toLowerCase();
    if (LOCALHOST.test(host)) return ['127.0.0.1', '::1'];
    if (signal.aborted) return [];
    const { resolver, release } = take();
    const cancel = (): void => resolver.cancel();
    signal.addEventListener('abort', cancel, { once: true });
    try {
      const found = await Promise.all([
        // The dot prevents the use of a search domain.
        resolver.resolve4(`${host}.`).catch(none),
        resolver.resolve6(`${host}.`).catch(none),
      ]);
      return found.flat();
    } finally {
      signal.removeEventListener('abort', cancel);
      if (!signal.aborted) release();
    }
  };
}

interface Taken {
  readonly resolver: dns.Resolver;
  readonly release: () => void;
}

/** Idle resolvers. Each serves one lookup at a time, so `cancel` ends only that one, and each lookup has a new UDP port. */
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
      release: () => {
        if (idle.length < IDLE_MAX) idle.push(taken);
      },
    };
  };
}

function none(): string[] {
  return [];
}
