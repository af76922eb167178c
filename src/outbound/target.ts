import { isIP } from 'node:net';
import { domainToUnicode } from 'node:url';
import { LIMITS } from '../base/limits.ts';
import { addressSet, isGlobalUnicast, parseAddress } from '../base/network/address.ts';

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

/** Which targets a client may call. `admits` is called for every address of the host. */
export interface TargetPolicy {
  allows(url: URL): boolean;
  admits(url: URL, address: string): boolean;
}

export const PUBLIC_ONLY: TargetPolicy = {
  allows: ({ protocol, username, password }) => protocol === 'https:' && username === '' && password === '',
  admits: (_url, address) => isPublicAddress(address),
};

/** For every URL of a customer: the rules of registration, checked again at every attempt. No setting weakens it. */
export const WEBHOOK_TARGETS: TargetPolicy = {
  allows: ({ href }) => webhookUrlFault(href) === null,
  admits: (_url, address) => isPublicAddress(address),
};

/** `PUBLIC_ONLY` and the operator's exact origins, at any address and over plain HTTP. Not for URLs of customers. */
export function operatorOrigins(bases: readonly string[]): TargetPolicy {
  const origins = new Set(bases.map((base) => new URL(base).origin));
  return {
    allows: (url) => origins.has(url.origin) || PUBLIC_ONLY.allows(url),
    admits: (url, address) => origins.has(url.origin) || PUBLIC_ONLY.admits(url, address),
  };
}

/** Octets of a name in text, and of one label (RFC 1035 §2.3.4). */
const NAME_MAX = 253;
const LABEL = /^[a-z0-9_-]{1,63}$/;

/** Last labels without a meaning in the public DNS: only a private network answers for them. */
const LOCAL_DOMAINS = new Set([
  'alt', // RFC 9476
  'arpa', // infrastructure; home.arpa (RFC 8375), ipv4only.arpa (RFC 7050), service.arpa (RFC 9665)
  'corp', // never to be delegated, as `home` and `mail`; customary in private networks (RFC 6762 appendix G)
  'domain',
  'example', // RFC 6761
  'home',
  'internal', // kept for private use by ICANN; the hosts of Amazon, Google, Azure and Docker
  'intranet',
  'invalid', // RFC 6761
  'lan',
  'local', // RFC 6762; cluster.local of Kubernetes
  'localdomain',
  'localhost', // RFC 6761
  'localnet',
  'mail',
  'onion', // RFC 7686
  'private',
  'svc', // Kubernetes
  'test', // RFC 6761
  'workgroup',
]);

/** Metadata services of clouds and clusters, which serve credentials. Names below them are refused too. */
const METADATA_HOSTS = [
  'api.metadata.cloud.ibm.com',
  'instance-data',
  'kubernetes.default',
  'metadata',
  'metadata.azure.com',
  'metadata.azure.internal',
  'metadata.goog', // Google's name for metadata.google.internal
  'metadata.google.internal',
  'metadata.packet.net',
  'metadata.platformequinix.com',
  'metadata.tencentyun.com',
  'rancher-metadata',
];

type HostDecision = 'allowed' | 'malformed' | 'not_allowed';

/**
 * Checks a host without DNS. Parsers turn `2130706433`, `0x7f.1` and `①②⑦。⓪.⓪.①` into 127.0.0.1, so `typed` (with brackets)
 * must equal `parsed` (`URL.hostname`): an address in its usual form, a name in its letters.
 */
function classifyHost(typed: string, parsed: string): HostDecision {
  if (parsed.startsWith('[')) return classifyIpv6(typed);
  if (isIP(parsed) === 4) return typed === parsed && isPublicAddress(parsed) ? 'allowed' : 'not_allowed';
  if (!isTypedAsParsed(typed, parsed)) return 'not_allowed';
  return classifyName(parsed);
}

/** Any spelling in hexadecimal. A dotted tail would hide an IPv4 address. */
function classifyIpv6(typed: string): HostDecision {
  const literal = typed.slice(1, -1);
  return !literal.includes('.') && isPublicAddress(literal) ? 'allowed' : 'not_allowed';
}

/** Refuses what a parser maps, drops or decodes: full-width and circled signs, ideographic dots, soft hyphens, `%61`. */
function isTypedAsParsed(typed: string, parsed: string): boolean {
  if (Array.from(typed).some(isDisguisedAscii)) return false;
  // A Mac types ü as two code points, which is allowed.
  const lower = typed.normalize('NFC').toLowerCase();
  return lower === parsed || lower === domainToUnicode(parsed);
}

/** Compatibility characters, and the Kelvin sign, which lower case turns into `k`. */
function isDisguisedAscii(character: string): boolean {
  return character > '\x7f' && /[\0-\x7f]/.test(character.normalize('NFKC'));
}

function classifyName(parsed: string): HostDecision {
  const name = parsed.replace(/\.$/, '');
  const labels = name.split('.');
  if (name.length > NAME_MAX || !labels.every((label) => LABEL.test(label))) return 'malformed';
  if (labels.length < 2 || LOCAL_DOMAINS.has(labels.at(-1) ?? '')) return 'not_allowed';
  if (METADATA_HOSTS.some((host) => name === host || name.endsWith(`.${host}`))) return 'not_allowed';
  return /(?:^|\.)xn--/.test(domainToUnicode(name)) ? 'malformed' : 'allowed';
}

export const URL_FAULTS = {
  tooLong: 'url is too long',
  malformed: 'url is malformed',
  notHttps: 'url must use https',
  prefix: 'url must begin with https in lower case',
  credentials: 'url must not have credentials',
  fragment: 'url must not have a fragment',
  port: 'url port is not allowed',
  host: 'url host is not allowed',
} as const;

export type UrlFault = (typeof URL_FAULTS)[keyof typeof URL_FAULTS];

/** Parsers also accept `https:/x`, `https:x` and `HTTPS://x`; those are refused. */
const PREFIX = 'https://';

/** Controls, invisible signs, lone surrogates, spaces, and the backslash, which parsers read as a slash. */
const FORBIDDEN = /[\p{Cc}\p{Cf}\p{Cs}\p{Z}\\]/u;

const AUTHORITY = /^(\[[^\]]*\]|[^:[]*)(?::(.*))?$/;

/** "Port blocking" of the Fetch standard: ports of protocols that HTTP could attack. */
const BAD_PORTS = new Set([
  0, 1, 7, 9, 11, 13, 15, 17, 19, 20, 21, 22, 23, 25, 37, 42, 43, 53, 69, 77, 79, 87, 95, 101, 102, 103, 104,
  109, 110, 111, 113, 115, 117, 119, 123, 135, 137, 139, 143, 161, 179, 389, 427, 465, 512, 513, 514, 515,
  526, 530, 531, 532, 540, 548, 554, 556, 563, 587, 601, 636, 989, 990, 993, 995, 1719, 1720, 1723, 2049,
  3659, 4045, 4190, 5060, 5061, 6000, 6566, 6665, 6666, 6667, 6668, 6669, 6679, 6697, 10080,
]);

const HOST_FAULTS: Readonly<Record<HostDecision, UrlFault | null>> = {
  allowed: null,
  malformed: URL_FAULTS.malformed,
  not_allowed: URL_FAULTS.host,
};

/** The first rule that the text breaks, or null. Does not resolve the host. A fragment is refused, because HTTP never sends it. */
export function webhookUrlFault(text: string): UrlFault | null {
  const parsed = parse(text);
  return parsed instanceof URL ? null : parsed;
}

/** Null when `webhookUrlFault` finds a fault. */
export function parseWebhookUrl(text: string): URL | null {
  const parsed = parse(text);
  return parsed instanceof URL ? parsed : null;
}

function parse(text: string): URL | UrlFault {
  if (text.length > LIMITS.webhookUrl) return URL_FAULTS.tooLong;
  if (!text.startsWith(PREFIX)) return /^https:/i.test(text) ? URL_FAULTS.prefix : URL_FAULTS.notHttps;
  if (FORBIDDEN.test(text)) return URL_FAULTS.malformed;
  const [authority = ''] = text.slice(PREFIX.length).split(/[/?#]/, 1);
  if (authority.includes('@')) return URL_FAULTS.credentials;
  if (text.includes('#')) return URL_FAULTS.fragment;
  const [, host = '', port] = AUTHORITY.exec(authority) ?? [];
  if (host === '') return URL_FAULTS.malformed;
  if (port !== undefined && !isGoodPort(port)) return URL_FAULTS.port;
  const url = URL.parse(text);
  if (url === null) return URL_FAULTS.malformed;
  // Checked as typed and as sent: percent-encoding makes letters of other scripts longer.
  if (url.href.length > LIMITS.webhookUrl) return URL_FAULTS.tooLong;
  return HOST_FAULTS[classifyHost(host, url.hostname)] ?? url;
}

function isGoodPort(port: string): boolean {
  return /^[1-9]\d{0,4}$/.test(port) && Number(port) <= 65_535 && !BAD_PORTS.has(Number(port));
}
