import { addressSet, isGlobalUnicast, parseAddress } from '../../core/address.ts';

/**
 * IPv4 blocks that are not the public Internet: the IANA special-purpose registry (RFC 6890 and its updates), multicast,
 * what is reserved, and the metadata addresses of clouds that lie outside those.
 */
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

/**
 * The one IPv6 block that is routed. Outside it lie loopback, IPv4-mapped (`::ffff:0:0/96`), IPv4-compatible (`::/96`),
 * translated (`::ffff:0:0:0/96`), NAT64 (`64:ff9b::/96`, `64:ff9b:1::/48`), unique-local with the metadata of AWS and Google
 * (`fd00:ec2::254`, `fd20:ce::254`), link-local, site-local and multicast.
 */
const isRoutedIpv6 = addressSet(['2000::/3']);

/** What lies inside it and is not public. */
const isDeniedIpv6 = addressSet([
  '2001::/23', // protocol assignments: Teredo, benchmarks, AMT, ORCHID
  '2001:db8::/32', // documentation
  '2002::/16', // 6to4: an IPv4 address in disguise
  '2620:4f:8000::/48', // AS112
  '3ffe::/16', // the 6bone, given back
  '3fff::/20', // documentation
]);

/** The interface identifier of ISATAP, before the IPv4 address that it wraps (RFC 5214 §6.1); the first octet may have the u bit. */
const ISATAP = [0x00, 0x00, 0x5e, 0xfe];
const ISATAP_AT = 8;
const U_BIT = 0x02;

/**
 * Whether text is an address of the public Internet, to which a request may be made that a customer asks for. The tables above
 * and those of ipaddr.js must both allow it. Text that is no plain address is not public.
 */
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
