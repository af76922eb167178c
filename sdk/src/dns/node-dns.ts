import { reasonOf } from '../shared/fetch.ts';
import { Unavailable } from './errors.ts';
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

interface NodeDns {
  readonly Resolver: new (options: {
    timeout: number;
    tries: number;
  }) => {
    setServers(servers: readonly string[]): void;
    resolveTxt(name: string): Promise<string[][]>;
  };
}

/** Not an import: bundlers for browsers fail on those even where only DNS over HTTPS is used. */
function nodeDns(): NodeDns {
  const { process } = globalThis as { process?: { getBuiltinModule?(name: string): NodeDns | undefined } };
  const found = process?.getBuiltinModule?.('node:dns/promises');
  if (found === undefined) throw new TypeError('`servers` needs node:dns. Give `doh` on this runtime');
  return found;
}

/** DNS over UDP and TCP by `node:dns`, which does not tell the TTL of TXT records. */
export function overDns(servers: readonly string[], timeoutMs: number): Transport {
  const { Resolver } = nodeDns();
  const resolver = new Resolver({ timeout: timeoutMs, tries: 1 });
  resolver.setServers(servers);
  return async (name, signal) => {
    let onAbort = (): void => undefined;
    const aborted = new Promise<never>((_, reject) => {
      onAbort = () => reject(signal.reason);
      signal.addEventListener('abort', onAbort, { once: true });
    });
    try {
      const records = await Promise.race([resolver.resolveTxt(name), aborted]);
      const [strings] = records;
      if (strings === undefined) throw errorOfRcode(0, null);
      return { text: strings.join(''), ttl: null };
    } catch (error) {
      if (signal.aborted) throw signal.reason;
      const code = reasonOf(error);
      const rcode = code === null ? undefined : RCODES[code];
      if (rcode !== undefined) throw errorOfRcode(rcode, null);
      throw code === null ? error : new Unavailable(code === 'ETIMEOUT' ? 'timeout' : code);
    } finally {
      signal.removeEventListener('abort', onAbort);
    }
  };
}
