import { formatAddress, networkOf, parseAddress, withoutMapping } from '../../core/network/address.ts';

/** Bits of the network that one subscriber usually has. */
const IPV6_PREFIX = 64;

/** The rate key: an IPv4 address, also when mapped, or an IPv6 /64. @param address undefined: the client is gone */
export function addressKey(address: string | undefined): string {
  if (address === undefined) return 'gone';
  const octets = parseAddress(address.split('%', 1)[0]!);
  if (octets === null) return address;
  const plain = withoutMapping(octets);
  return plain.length === 4 ? formatAddress(plain) : networkOf(plain, IPV6_PREFIX);
}
