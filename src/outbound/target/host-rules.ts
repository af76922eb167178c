import { isIP } from 'node:net';
import { domainToUnicode } from 'node:url';
import { isPublicAddress } from './public-address.ts';

/** Octets of a name in text, and of one label (RFC 1035 §2.3.4). */
const NAME_MAX = 253;
const LABEL = /^[a-z0-9_-]{1,63}$/;

/** Last labels that mean nothing in the public DNS: what answers for them is somebody's own network. */
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

/** Where clouds and clusters tell a machine its secrets, by name; they and all below them. */
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
 * Judges the host of a customer's URL by itself, without asking the DNS.
 *
 * What a parser makes of a host is not what a person reads: `2130706433`, `0x7f.1`, `①②⑦。⓪.⓪.①` and `%31%32%37.1` all become
 * 127.0.0.1. So the typed host must say the same as the parsed one: an address in its usual form, a name in its letters.
 *
 * @param typed the host as it stands in the text, brackets included
 * @param parsed `hostname` of the parsed URL
 */
export function classifyHost(typed: string, parsed: string): HostDecision {
  if (parsed.startsWith('[')) return judgeIpv6(typed);
  if (isIP(parsed) === 4) return typed === parsed && isPublicAddress(parsed) ? 'allowed' : 'not_allowed';
  if (!saysTheSame(typed, parsed)) return 'not_allowed';
  return judgeName(parsed);
}

/** Any spelling in hex; a dotted tail could only be a disguise. */
function judgeIpv6(typed: string): HostDecision {
  const literal = typed.slice(1, -1);
  return !literal.includes('.') && isPublicAddress(literal) ? 'allowed' : 'not_allowed';
}

/**
 * Whether a name was typed as its ASCII form, or as letters of another script that only this ASCII form stands for. What the
 * parser maps, drops or decodes on the way (full-width and circled signs, ideographic dots, soft hyphens, `%61`) fails.
 */
function saysTheSame(typed: string, parsed: string): boolean {
  if (Array.from(typed).some(isDisguisedAscii)) return false;
  // A Mac types ü as two code points; that is spelling, not disguise.
  const lower = typed.normalize('NFC').toLowerCase();
  return lower === parsed || lower === domainToUnicode(parsed);
}

/** Compatibility characters, and the one sign (Kelvin) that lower case alone turns into an ASCII letter. */
function isDisguisedAscii(character: string): boolean {
  return character > '\x7f' && /[\0-\x7f]/.test(character.normalize('NFKC'));
}

function judgeName(parsed: string): HostDecision {
  // A name may end with the root's dot; it is the same name.
  const name = parsed.replace(/\.$/, '');
  const labels = name.split('.');
  if (name.length > NAME_MAX || !labels.every((label) => LABEL.test(label))) return 'malformed';
  if (labels.length < 2 || LOCAL_DOMAINS.has(labels.at(-1) ?? '')) return 'not_allowed';
  if (METADATA_HOSTS.some((host) => name === host || name.endsWith(`.${host}`))) return 'not_allowed';
  // Punycode that stands for nothing.
  return /(?:^|\.)xn--/.test(domainToUnicode(name)) ? 'malformed' : 'allowed';
}
