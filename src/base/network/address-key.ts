import { formatAddress, networkOf, parseAddress, readAddress, withoutMapping } from './address.ts';

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
