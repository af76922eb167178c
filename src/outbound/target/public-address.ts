import { addressSet, isGlobalUnicast, parseAddress } from '../../base/network/address.ts';

/** IANA special-purpose registry (RFC 6890 and updates), multicast, reserved blocks, metadata addresses of clouds. */
const isDeniedIpv4 = addressSet([
  '0.0.0.0/8', // this host on this network
  '10.0.0.0/8', // private
  '100.64.0.0/10', // shared by carriers; Alibaba's metadata, 100.100.100.200
  '127.0.0.0/8', // loopback
  '168.63.129.16/32', // Azure's metadata and DNS, inside a public block
  '169.254.0.0/16', // link-local; metadata of AWS, Azure, Google and others, 169.254.169.254
  '172.16.0.0/12', // private
  '192.0.0.0/24', // protocol assignments; Oracle's metadata, 192.0.0.192
  '192.0.2.0/24', // documentation
  '192.31.196.0/24', // AS112
  '192.52.193.0/24', // AMT
  '192.88.99.0/24', // 6to4 relays
  '192.168.0.0/16', // private
  '192.175.48.0/24', // AS112
  '198.18.0.0/15', // benchmarks
  '198.51.100.0/24', // documentation
  '203.0.113.0/24', // documentation
  '224.0.0.0/4', // multicast
  '240.0.0.0/4', // reserved, and broadcast
]);

/** Global unicast, as IANA allocates it. Excludes loopback, IPv4-mapped, NAT64, unique-local (metadata of AWS, Google), link-local. */
const isRoutedIpv6 = addressSet(['2000::/3']);

const isDeniedIpv6 = addressSet([
  '2001::/23', // protocol assignments: Teredo, benchmarks, AMT, ORCHID
  '2001:db8::/32', // documentation
  '2002::/16', // 6to4: wraps an IPv4 address
  '2620:4f:8000::/48', // AS112
  '3ffe::/16', // the former 6bone
  '3fff::/20', // documentation
]);

/** ISATAP interface identifier before the IPv4 address (RFC 5214 §6.1); the first octet may have the u bit. */
const ISATAP = [0x00, 0x00, 0x5e, 0xfe];
const ISATAP_AT = 8;
const U_BIT = 0x02;

/** Both these tables and those of ipaddr.js must allow the address. False for any other text. */
export function isPublicAddress(text: string): boolean {
  const octets = parseAddress(text);
  if (octets === null) return false;
  if (octets.length === 4) {
    if (isDeniedIpv4(text)) return false;
  } else if (!isRoutedIpv6(text) || isDeniedIpv6(text) || isIsatap(octets)) {
    return false;
  }
  return isGlobalUnicast(octets);
}

function isIsatap(octets: Uint8Array): boolean {
  return ISATAP.every((octet, i) => {
    const found = octets[ISATAP_AT + i]!;
    return octet === (i === 0 ? found & ~U_BIT : found);
  });
}
