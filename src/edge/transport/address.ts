/** Peer addresses, as far as limits and cookies need them. They never leave this folder. */

import { ipv6FromText } from '../wire/address.ts';

const MAPPED = '::ffff:';
const NETWORK_OCTETS = 8;
const IPV4_OCTETS = 4;
const ZERO = 0x30;
const NINE = 0x39;
const DOT = 0x2e;

/**
 * What limits count by: an IPv4 address, or the /64 of an IPv6 one, since a single host owns all of that.
 *
 * @param address as the operating system writes it: possibly with a zone index, or IPv4-mapped
 * @returns text that is equal for peers that count as one, and good for nothing else
 */
export function networkKey(address: string): string {
  if (!address.includes(':')) return address;
  if (isMapped(address)) return address.slice(MAPPED.length);
  const octets = ipv6FromText(address.split('%', 1)[0]!);
  return octets === null ? address : Buffer.from(octets).toString('hex', 0, NETWORK_OCTETS);
}

/**
 * The octets of an address, which is an IPv4 one too when it is mapped. IPv4 costs no allocation: it is read for every reply.
 *
 * @param address as the operating system writes it
 * @param into 16 octets
 * @returns how many of them are the address: 4, 16, or 0 for one that cannot be read
 */
export function readAddress(address: string, into: Uint8Array): number {
  let octet = 0;
  let at = 0;
  for (let i = 0; i < address.length; i++) {
    const code = address.charCodeAt(i);
    if (code === DOT) {
      into[at++] = octet;
      octet = 0;
    } else if (code >= ZERO && code <= NINE) {
      octet = octet * 10 + code - ZERO;
    } else {
      return readIpv6(address, into);
    }
  }
  into[at] = octet;
  return at === IPV4_OCTETS - 1 ? IPV4_OCTETS : 0;
}

function readIpv6(address: string, into: Uint8Array): number {
  if (isMapped(address)) return readAddress(address.slice(MAPPED.length), into);
  const octets = ipv6FromText(address.split('%', 1)[0]!);
  if (octets === null) return 0;
  into.set(octets);
  return octets.length;
}

function isMapped(address: string): boolean {
  return address.startsWith(MAPPED) && address.includes('.');
}
