/** Peer addresses, as far as limits and cookies need them. They never leave this folder. */

import { ipv6FromText } from '../../wire/rdata/address.ts';

const MAPPED = '::ffff:';
const IPV4_OCTETS = 4;
const IPV6_OCTETS = 16;
const ZERO = 0x30;
const NINE = 0x39;
const LETTER_A = 0x61;
const DOT = 0x2e;
const COLON = 0x3a;

/** As the operating system writes it, or its octets: 4, or 16 of one that is not mapped. */
export type PeerAddress = string | Uint8Array;

/**
 * The octets of an address; a mapped one is the IPv4 address that it holds. It is read for every reply, so what the
 * operating system usually writes costs no allocation.
 *
 * @param into 16 octets
 * @returns how many of them are the address: 4, 16, or 0 for one that cannot be read
 */
export function readAddress(address: PeerAddress, into: Uint8Array): number {
  if (typeof address !== 'string') return copyOctets(address, into);
  if (!address.includes(':')) return readIpv4(address, 0, into);
  if (isMapped(address)) return readIpv4(address, MAPPED.length, into);
  return readGroups(address, into) ? IPV6_OCTETS : readIpv6(address, into);
}

/** In a loop: for so few octets `set` costs more. */
function copyOctets(address: Uint8Array, into: Uint8Array): number {
  for (let i = 0; i < address.length; i++) into[i] = address[i]!;
  return address.length;
}

function readIpv4(address: string, from: number, into: Uint8Array): number {
  let octet = 0;
  let at = 0;
  for (let i = from; i < address.length; i++) {
    const code = address.charCodeAt(i);
    if (code === DOT && at < IPV4_OCTETS) {
      into[at++] = octet;
      octet = 0;
    } else if (code >= ZERO && code <= NINE) {
      octet = octet * 10 + code - ZERO;
    } else {
      return 0;
    }
  }
  if (at !== IPV4_OCTETS - 1) return 0;
  into[at] = octet;
  return IPV4_OCTETS;
}

/** IPv6 in hexadecimal groups alone, lower case, zeros shortened or not. False for what it does not know. */
function readGroups(address: string, into: Uint8Array): boolean {
  let at = 0;
  let gap = -1;
  let group = 0;
  let digits = 0;
  for (let i = 0; i <= address.length; i++) {
    const code = i < address.length ? address.charCodeAt(i) : COLON;
    const digit = code >= ZERO && code <= NINE ? code - ZERO : code - LETTER_A + 10;
    if (code === COLON) {
      if (digits > 0) {
        if (at === IPV6_OCTETS) return false;
        into[at] = group >> 8;
        into[at + 1] = group;
        at += 2;
        group = 0;
        digits = 0;
      } else if (i < address.length) {
        gap = at;
      }
    } else if (digit >= 0 && digit < 16) {
      group = (group << 4) | digit;
      digits++;
    } else {
      return false;
    }
  }
  if (gap < 0) return at === IPV6_OCTETS;
  // What follows the gap moves to the end, and the gap fills with zeros.
  let to = IPV6_OCTETS;
  while (at > gap) into[--to] = into[--at]!;
  while (to > gap) into[--to] = 0;
  return true;
}

/** All other forms: with a zone index, or ending in a dotted quad. */
function readIpv6(address: string, into: Uint8Array): number {
  const octets = ipv6FromText(address.split('%', 1)[0]!);
  if (octets === null) return 0;
  into.set(octets);
  return octets.length;
}

function isMapped(address: string): boolean {
  return address.startsWith(MAPPED) && address.includes('.');
}
