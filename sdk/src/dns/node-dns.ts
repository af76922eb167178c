import { startDeadline } from '../shared/attempts.ts';
import { reasonOf } from '../shared/fetch.ts';
import { Refused, Unavailable } from './errors.ts';
import { ReadError } from './read-error.ts';
import { errorOfRcode, type Transport } from './transport.ts';

/** Codes of node:dns, as response codes. */
const RCODES: Readonly<Record<string, number>> = {
  ENODATA: 0,
  EFORMERR: 1,
  ESERVFAIL: 2,
  ENOTFOUND: 3,
  ENOTIMP: 4,
  EREFUSED: 5,
};

interface NodeResolver {
  setServers(servers: readonly string[]): void;
  resolveTxt(name: string): Promise<string[][]>;
  /** Ends its questions. */
  cancel(): void;
}

interface NodeDns {
  readonly Resolver: new (options: { timeout: number; maxTimeout: number; tries: number }) => NodeResolver;
}

/** Not an import: bundlers for browsers fail on those even where only DNS over HTTPS is used. */
function nodeDns(): NodeDns {
  const { process } = globalThis as { process?: { getBuiltinModule?(name: string): NodeDns | undefined } };
  const found = process?.getBuiltinModule?.('node:dns/promises');
  if (found === undefined) throw new TypeError('`servers` needs node:dns. Give `doh` on this runtime');
  return found;
}

/** The deadline of a question ends it, not the resolver, which looks at its clock once a second. */
const NO_TIMEOUT = { timeout: 2_147_483_647, maxTimeout: 2_147_483_647, tries: 1 };

/**
 * DNS over UDP and TCP by `node:dns`, which does not tell the TTL of TXT records. An attempt asks one server after the other until one answers,
 * beginning with the one that answered last. Each has an equal part of the time.
 */
export function overDns(servers: readonly string[]): Transport {
  const { Resolver } = nodeDns();
  // A new one for each question: it waits for a server that has answered fast for five times as long, whatever its timeout.
  const resolverOf = (some: readonly string[]): NodeResolver => {
    const resolver = new Resolver(NO_TIMEOUT);
    resolver.setServers(some);
    return resolver;
  };
  // A wrong address is an error, also where the servers before it answer.
  resolverOf(servers);
  let first = 0;
  return async (name, { signal, milliseconds }) => {
    const order = [...servers.keys()].map((turn) => (first + turn) % servers.length);
    let failure: Unavailable | Refused = new Unavailable('no servers');
    for (const server of order) {
      const part = startDeadline(milliseconds / order.length, () => new Unavailable('timeout'), signal);
      try {
        const text = await ask(resolverOf(servers.slice(server, server + 1)), name, part.signal);
        first = server;
        return { text, ttl: null };
      } catch (error) {
        signal.throwIfAborted();
        // A record that is not there is an answer too.
        if (!(error instanceof Unavailable || error instanceof Refused)) {
          first = server;
          throw error;
        }
        // A refusal came from a server that is there: it says more than a lost packet.
        if (!(failure instanceof Refused)) failure = error;
      } finally {
        part.stopClock();
      }
    }
    throw failure;
  };
}

/** Asks one server once. @throws ReadError */
async function ask(resolver: NodeResolver, name: string, signal: AbortSignal): Promise<string> {
  signal.addEventListener('abort', () => resolver.cancel(), { once: true });
  try {
    const [strings] = await resolver.resolveTxt(name);
    if (strings === undefined) throw errorOfRcode(0, null);
    return strings.join('');
  } catch (error) {
    if (signal.aborted) throw signal.reason;
    if (error instanceof ReadError) throw error;
    const code = reasonOf(error);
    const rcode = code === null ? undefined : RCODES[code];
    if (rcode !== undefined) throw errorOfRcode(rcode, null);
    throw code === null ? error : new Unavailable(code === 'ETIMEOUT' ? 'timeout' : code);
  }
}
