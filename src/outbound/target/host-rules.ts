import { isIP } from 'node:net';
import { domainToUnicode } from 'node:url';
import { isPublicAddress } from './public-address.ts';

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

export type HostDecision = 'allowed' | 'malformed' | 'not_allowed';

/**
 * Checks a host without DNS. Parsers turn `2130706433`, `0x7f.1` and `①②⑦。⓪.⓪.①` into 127.0.0.1, so `typed` (with brackets)
 * must equal `parsed` (`URL.hostname`): an address in its usual form, a name in its letters.
 */
export function classifyHost(typed: string, parsed: string): HostDecision {
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
