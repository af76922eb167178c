/** Peer addresses, as far as limits need them. They never leave this folder. */

import { ipv6FromText } from '../wire/address.ts';

const MAPPED = '::ffff:';
const NETWORK_OCTETS = 8;

/**
 * What limits count by: an IPv4 address, or the /64 of an IPv6 one, since a single host owns all of that.
 *
 * @param address as the operating system writes it: possibly with a zone index, or IPv4-mapped
 * @returns text that is equal for peers that count as one, and good for nothing else
 */
export function networkKey(address: string): string {
  if (!address.includes(':')) return address;
  if (address.startsWith(MAPPED) && address.includes('.')) return address.slice(MAPPED.length);
  const octets = ipv6FromText(address.split('%', 1)[0]!);
  return octets === null ? address : Buffer.from(octets).toString('hex', 0, NETWORK_OCTETS);
}
