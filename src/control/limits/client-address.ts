import { isIP } from 'node:net';
import { addressSet } from '../../core/address.ts';

const MAPPED_V4 = /^::ffff:(\d+\.\d+\.\d+\.\d+)$/i;

/** Finds the address of a client. @param forwarded the `X-Forwarded-For` header, several of them joined by commas */
export type ClientAddress = (peer: string | undefined, forwarded: string | undefined) => string | undefined;

/**
 * The address that a client's requests are counted under. Behind trusted proxies it is the right-most address of
 * `X-Forwarded-For` that is not a trusted proxy: everything left of it is what the client claims. Where every address is a
 * trusted proxy, it is the left-most.
 *
 * A header that cannot be read up to that address is ignored: the peer counts. Only a trusted proxy can send such a header,
 * because its own entry is the right-most one.
 *
 * @param proxies addresses, and networks in CIDR form; checked when the configuration is read
 */
export function clientAddress(proxies: readonly string[]): ClientAddress {
  if (proxies.length === 0) return (peer) => peer;
  const isTrusted = addressSet(proxies);
  return (peer, forwarded) => {
    const direct = peer === undefined ? undefined : plain(peer);
    if (direct === undefined || forwarded === undefined || !isTrusted(direct)) return peer;
    let leftmost = direct;
    for (const entry of forwarded.split(',').reverse()) {
      const address = plain(withoutPort(entry.trim()));
      if (isIP(address) === 0) return direct;
      if (!isTrusted(address)) return address;
      leftmost = address;
    }
    return leftmost;
  };
}

/** An IPv4-mapped address as IPv4, and an IPv6 address without its zone. */
function plain(address: string): string {
  return MAPPED_V4.exec(address)?.[1] ?? address.split('%', 1)[0]!;
}

/** Some proxies append the port: `192.0.2.1:4711`, `[2001:db8::1]:4711`. */
function withoutPort(entry: string): string {
  const bracketed = /^\[([^\]]*)\](?::\d{1,5})?$/.exec(entry)?.[1];
  return bracketed ?? /^(\d+\.\d+\.\d+\.\d+):\d{1,5}$/.exec(entry)?.[1] ?? entry;
}
