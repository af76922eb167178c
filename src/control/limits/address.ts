import { formatAddress, networkOf, parseAddress, withoutMapping } from '../../core/address.ts';

/** What one subscriber commonly holds, in bits. */
const IPV6_PREFIX = 64;

/**
 * The key under which the requests of a client address are counted: an IPv4 address (also when IPv4-mapped), or the /64
 * network of an IPv6 address.
 *
 * @param address as `socket.remoteAddress` gives it: undefined once the client is gone
 */
export function addressKey(address: string | undefined): string {
  if (address === undefined) return 'gone';
  const octets = parseAddress(address.split('%', 1)[0]!);
  if (octets === null) return address;
  const plain = withoutMapping(octets);
  return plain.length === 4 ? formatAddress(plain) : networkOf(plain, IPV6_PREFIX);
}
