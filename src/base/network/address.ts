/** IP addresses. The program keeps an address as its octets: 4 or 16. */

import { isIP } from 'node:net';
import ipaddr from 'ipaddr.js';

const IPV4_OCTETS = 4;
const IPV6_OCTETS = 16;
const ZERO = 0x30;
const NINE = 0x39;
const LETTER_A = 0x61;
const DOT = 0x2e;
const COLON = 0x3a;
/** An IPv4-mapped address: ten zeros, twice 0xff, and the IPv4 address (RFC 4291 §2.5.5.2). */
const MAPPED_HEAD = Uint8Array.of(0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff);
const MAPPED_PREFIX = '::ffff:';
const QUAD = /(\d+)\.(\d+)\.(\d+)\.(\d+)$/;

/** Parses dotted-quad IPv4 without leading zeros, or IPv6 (RFC 4291 §2.2) without a zone index. Else null. */
export function parseAddress(text: string): Uint8Array | null {
  // ipaddr.js alone also reads octal, hexadecimal and shortened IPv4.
  const family = isIP(text);
  if (family === 0 || text.includes('%')) return null;
  const plain = family === 6 ? text.replace(QUAD, quadGroups) : text;
  return Uint8Array.from(ipaddr.parse(plain).toByteArray());
}

export function parseIpv4(text: string): Uint8Array | null {
  return text.includes(':') ? null : parseAddress(text);
}

export function parseIpv6(text: string): Uint8Array | null {
  return text.includes(':') ? parseAddress(text) : null;
}

/** Two hexadecimal groups for a dotted quad: ipaddr.js reads `::192.0.2.1` as `::ffff:192.0.2.1`, another address. */
function quadGroups(_quad: string, a: string, b: string, c: string, d: string): string {
  return `${((Number(a) << 8) | Number(b)).toString(16)}:${((Number(c) << 8) | Number(d)).toString(16)}`;
}

/** The text of 4 octets (dotted quad) or 16 (RFC 5952 §4; an IPv4-mapped address ends in a dotted quad, §5). */
export function formatAddress(octets: Uint8Array): string {
  const address = ipaddr.fromByteArray([...octets]);
  if (!(address instanceof ipaddr.IPv6)) return address.toString();
  return isMapped(octets)
    ? `::ffff:${octets.subarray(MAPPED_HEAD.length).join('.')}`
    : address.toRFC5952String();
}

/** Converts an IPv4-mapped address to IPv4, and returns any other as it is. */
export function withoutMapping(octets: Uint8Array): Uint8Array {
  return isMapped(octets) ? octets.subarray(MAPPED_HEAD.length) : octets;
}

function isMapped(octets: Uint8Array): boolean {
  return octets.length === IPV6_OCTETS && MAPPED_HEAD.every((octet, i) => octets[i] === octet);
}

/** The network of an address, such as `2001:db8::/64`. @param bits of the prefix, a multiple of 8 */
export function networkOf(octets: Uint8Array, bits: number): string {
  const network = octets.map((octet, i) => (8 * i < bits ? octet : 0));
  return `${formatAddress(network)}/${bits}`;
}

/** Whether a listener of this host takes what comes to every address: `::` that of IPv4 too. */
export function isEveryAddress(host: string): boolean {
  return host === '0.0.0.0' || host === '::';
}

/** By the tables of ipaddr.js: not private, loopback, documentation or multicast. */
export function isGlobalUnicast(octets: Uint8Array): boolean {
  return ipaddr.fromByteArray([...octets]).range() === 'unicast';
}

export function isNetwork(text: string): boolean {
  const [address = '', length, ...rest] = text.split('/');
  const octets = parseAddress(address);
  if (octets === null || rest.length > 0) return false;
  return length === undefined || (/^[0-9]{1,3}$/.test(length) && Number(length) <= 8 * octets.length);
}

/** Whether an address is in one of the networks. An IPv4-mapped address is when its IPv4 address is, whatever IPv6 networks there are. */
export type AddressSet = (address: PeerAddress) => boolean;

interface Network {
  /** 4 or 16. */
  readonly octets: Uint8Array;
  readonly bits: number;
}

/** Reads octets without an allocation, for each datagram. @param networks each accepted by `isNetwork`; any other throws TypeError */
export function addressSet(networks: readonly string[]): AddressSet {
  const all = networks.map(networkFrom);
  const own = new Uint8Array(IPV6_OCTETS);
  return (address) => {
    if (typeof address === 'string' && isIP(address) === 0) return false;
    const length = readAddress(address, own);
    for (const network of all) if (network.octets.length === length && begins(own, network)) return true;
    return false;
  };
}

function networkFrom(text: string): Network {
  const [address = '', length] = text.split('/');
  const octets = parseAddress(address);
  if (octets === null || !isNetwork(text)) throw new TypeError('not an address or network in CIDR form');
  const bits = length === undefined ? 8 * octets.length : Number(length);
  const unmapped = withoutMapping(octets);
  const head = 8 * (octets.length - unmapped.length);
  return bits < head ? { octets, bits } : { octets: unmapped, bits: bits - head };
}

/** Whether an address begins with the bits of a network. */
function begins(address: Uint8Array, { octets, bits }: Network): boolean {
  const whole = bits >> 3;
  for (let i = 0; i < whole; i++) if (address[i] !== octets[i]) return false;
  const rest = 8 - (bits & 7);
  return rest === 8 || address[whole]! >> rest === octets[whole]! >> rest;
}

/** Text from the operating system, or octets: 4, or 16 of an address that is not IPv4-mapped. */
export type PeerAddress = string | Uint8Array;

/**
 * Reads a peer's address without an allocation, for each DNS reply: 0.6 µs; `parseAddress` takes 9 µs. It does not
 * check the range of IPv4 octets, because the text comes from the operating system.
 * @param into 16 octets
 * @returns how many octets the address has: 4, 16, or 0 for text that is no address
 */
export function readAddress(address: PeerAddress, into: Uint8Array): number {
  if (typeof address !== 'string') return copyOctets(address, into);
  if (!address.includes(':')) return readIpv4(address, 0, into);
  if (address.startsWith(MAPPED_PREFIX) && address.includes('.')) {
    return readIpv4(address, MAPPED_PREFIX.length, into);
  }
  if (readGroups(address, into)) return IPV6_OCTETS;
  // Upper case, a zone index, or a dotted quad at the end.
  const octets = parseIpv6(address.split('%', 1)[0]!);
  if (octets === null) return 0;
  into.set(octets);
  return IPV6_OCTETS;
}

/** A loop: `set` is slower for 16 octets. */
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

/** Reads IPv6 in lower-case hexadecimal groups, `::` included. False for any other form. */
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
  // Move what follows `::` to the end, and fill with zeros.
  let to = IPV6_OCTETS;
  while (at > gap) into[--to] = into[--at]!;
  while (to > gap) into[--to] = 0;
  return true;
}

/** Bits of the network that one subscriber usually has, and of the largest that is usual (RFC 6177). */
const IPV6_PREFIX = 64;
const IPV6_SITE_PREFIX = 48;

/** The rate key: an IPv4 address, also when mapped, or an IPv6 /64. @param address undefined: the client is gone */
export function addressKey(address: string | undefined): string {
  if (address === undefined) return 'gone';
  const octets = octetsOf(address);
  if (octets === null) return address;
  return octets.length === 4 ? formatAddress(octets) : networkOf(octets, IPV6_PREFIX);
}

/** The rate key of the /48 around an IPv6 address; null for anything else. */
export function siteKey(address: string | undefined): string | null {
  const octets = address === undefined ? null : octetsOf(address);
  return octets?.length === 16 ? networkOf(octets, IPV6_SITE_PREFIX) : null;
}

/**
 * The networks around an address whose connections count together, largest first: /24 and the address, or /48 and /56. Strangers in a /56
 * are few, and a provider gives one customer as many /64 as it likes. @param address undefined: the client is gone
 */
export function networksOf(address: string | undefined): readonly string[] {
  const length = address === undefined ? 0 : readAddress(address.split('%', 1)[0]!, octets);
  if (length === 0) return [address ?? 'gone'];
  const [neighbours, own] = length === 4 ? [3, 4] : [6, 7];
  // Not as addresses are written: this runs for every connection.
  return [octets.subarray(0, neighbours).join('.'), octets.subarray(0, own).join('.')];
}

const octets = new Uint8Array(16);

function octetsOf(address: string): Uint8Array | null {
  const octets = parseAddress(address.split('%', 1)[0]!);
  return octets === null ? null : withoutMapping(octets);
}

export interface NameServer {
  /** One label below the zone. */
  readonly label: string;
  /** Literal IPv4 and IPv6 addresses, at least one. */
  readonly addresses: readonly string[];
}
