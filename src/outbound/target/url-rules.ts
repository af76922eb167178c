import { LIMITS } from '../../core/limits.ts';
import { classifyHost, type HostDecision } from './host-rules.ts';

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
