/**
 * PROXY protocol, version 2 (haproxy's proxy-protocol.txt, section 2.2): a header with which a proxy names its client, at the start of a
 * connection or of each datagram. Pure, and without allocations, because each packet behind a proxy has one.
 */

import { LIMITS } from '../../base/limits.ts';
import type { AddressSet, PeerAddress } from '../../base/network/address.ts';
import { u16At, u32At } from '../../protocol/dns/octets.ts';

const SIGNATURE = Uint8Array.of(0x0d, 0x0a, 0x0d, 0x0a, 0x00, 0x0d, 0x0a, 0x51, 0x55, 0x49, 0x54, 0x0a);
const COMMAND_AT = 12;
const FAMILY_AT = 13;
const LENGTH_AT = 14;
/** Octets before the addresses. */
const HEAD = 16;
/** Version 2 with command LOCAL (a question of the proxy's own, such as a health check), and with command PROXY. */
const LOCAL = 0x20;
const PROXY = 0x21;
/** Octets of addresses and ports of each family: unspecified, IPv4, IPv6, Unix sockets. */
const BLOCKS = [0, 12, 36, 216] as const;
const IPV4 = 1;
const IPV6 = 2;
const STREAM = 1;
const DATAGRAM = 2;
/** Octets of type and length of a TLV, and of the value of a checksum. */
const TLV_HEAD = 3;
const CRC32C = 0x03;
const CRC32C_OCTETS = 4;

/** Results of `proxyHeaderOctets`. */
export const PARTIAL_HEADER = 0;
export const NO_HEADER = -1;

/**
 * Looks for a header at the start of `octets[0, length)`. Version 1 is no header, nor is one above `LIMITS.proxyHeader`, one whose addresses or
 * TLVs do not fit into its length, or one whose checksum is wrong or repeated. A wrong octet is reported before the header is whole.
 * @returns its octets; PARTIAL_HEADER: more octets are needed; NO_HEADER
 */
export function proxyHeaderOctets(octets: Uint8Array, length: number): number {
  for (let i = 0; i < SIGNATURE.length && i < length; i++) if (octets[i] !== SIGNATURE[i]) return NO_HEADER;
  if (length <= COMMAND_AT) return PARTIAL_HEADER;
  const command = octets[COMMAND_AT]!;
  if (command !== LOCAL && command !== PROXY) return NO_HEADER;
  if (length < HEAD) return PARTIAL_HEADER;
  const end = HEAD + u16At(octets, LENGTH_AT);
  if (end > LIMITS.proxyHeader) return NO_HEADER;
  // The block of a LOCAL header has no meaning, its family included.
  const tlvsAt = command === LOCAL ? end : HEAD + blockOctets(octets[FAMILY_AT]!);
  if (tlvsAt > end) return NO_HEADER;
  if (length < end) return PARTIAL_HEADER;
  return areTlvsValid(octets, tlvsAt, end) ? end : NO_HEADER;
}

/** Octets of the addresses of a family and protocol; infinite for those that a receiver must refuse. */
function blockOctets(family: number): number {
  return (family & 0x0f) > DATAGRAM
    ? Number.POSITIVE_INFINITY
    : (BLOCKS[family >> 4] ?? Number.POSITIVE_INFINITY);
}

function areTlvsValid(octets: Uint8Array, start: number, end: number): boolean {
  let at = start;
  let hasChecksum = false;
  while (at < end) {
    if (end - at < TLV_HEAD) return false;
    const valueAt = at + TLV_HEAD;
    const valueEnd = valueAt + u16At(octets, at + 1);
    if (valueEnd > end) return false;
    if (octets[at] === CRC32C) {
      // One is enough: each costs a pass over the header, and 72 of them would fit.
      if (hasChecksum || valueEnd - valueAt !== CRC32C_OCTETS) return false;
      hasChecksum = true;
      if (u32At(octets, valueAt) !== crc32c(octets, end, valueAt)) return false;
    }
    at = valueEnd;
  }
  return true;
}

/** The polynomial of CRC-32C, its bits reversed (RFC 4960 appendix B). */
const POLYNOMIAL = 0x82f6_3b78;

/** The checksum of `octets[0, end)` as if the four octets at `zerosAt` were zeros. By bits: senders of checksums are rare. */
function crc32c(octets: Uint8Array, end: number, zerosAt: number): number {
  let crc = 0xffff_ffff;
  for (let i = 0; i < end; i++) {
    crc ^= i >= zerosAt && i < zerosAt + CRC32C_OCTETS ? 0 : octets[i]!;
    for (let bit = 0; bit < 8; bit++) crc = (crc >>> 1) ^ (crc & 1 ? POLYNOMIAL : 0);
  }
  return (crc ^ 0xffff_ffff) >>> 0;
}

/**
 * The client's address in a header that `proxyHeaderOctets` has found.
 * @param into 16 octets
 * @returns 4 (also for an IPv4-mapped one) or 16; 0: it names none (LOCAL, or neither IP nor a known protocol), so that the proxy itself counts
 */
export function readProxiedAddress(header: Uint8Array, into: Uint8Array): number {
  const protocol = header[FAMILY_AT]! & 0x0f;
  if (header[COMMAND_AT] !== PROXY || (protocol !== STREAM && protocol !== DATAGRAM)) return 0;
  const family = header[FAMILY_AT]! >> 4;
  if (family === IPV4) return copy(header, HEAD, 4, into);
  if (family !== IPV6) return 0;
  return isMappedAt(header, HEAD) ? copy(header, HEAD + 12, 4, into) : copy(header, HEAD, 16, into);
}

function copy(from: Uint8Array, at: number, octets: number, into: Uint8Array): number {
  for (let i = 0; i < octets; i++) into[i] = from[at + i]!;
  return octets;
}

/** RFC 4291 §2.5.5.2. */
function isMappedAt(octets: Uint8Array, at: number): boolean {
  for (let i = 0; i < 10; i++) if (octets[at + i] !== 0) return false;
  return octets[at + 10] === 0xff && octets[at + 11] === 0xff;
}

/** Reads the headers of datagrams. */
export class DatagramHeaders {
  /** The client of the last datagram: the peer itself, or octets that the next datagram overwrites. */
  client: PeerAddress = '';
  readonly #proxies: AddressSet;
  readonly #ipv6 = new Uint8Array(16);
  readonly #ipv4 = this.#ipv6.subarray(0, 4);

  /** @param proxies peers whose datagrams must begin with a header; those of others have none */
  constructor(proxies: AddressSet) {
    this.#proxies = proxies;
  }

  /** Sets `client`. @returns octets of the header, 0 from a peer that is no proxy; NO_HEADER: drop the datagram */
  read(datagram: Uint8Array, length: number, peer: PeerAddress): number {
    this.client = peer;
    if (!this.#proxies(peer)) return 0;
    const octets = proxyHeaderOctets(datagram, length);
    if (octets <= 0) return NO_HEADER;
    const named = readProxiedAddress(datagram, this.#ipv6);
    if (named > 0) this.client = named === 4 ? this.#ipv4 : this.#ipv6;
    return octets;
  }
}
