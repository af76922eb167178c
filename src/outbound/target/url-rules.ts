import { LIMITS } from '../../core/limits.ts';
import { classifyHost, type HostDecision } from './host-rules.ts';

/** What may be wrong with a customer's URL. Static texts: they tell the rule and repeat nothing of the URL. */
export const URL_FAULTS = {
  tooLong: 'url is too long',
  malformed: 'url is malformed',
  notHttps: 'url must use https',
  credentials: 'url must not have credentials',
  fragment: 'url must not have a fragment',
  port: 'url port is not allowed',
  host: 'url host is not allowed',
} as const;

export type UrlFault = (typeof URL_FAULTS)[keyof typeof URL_FAULTS];

/** Parsers repair `https:/x`, `https:x` and `HTTPS://x`; nobody needs to write so. */
const PREFIX = 'https://';

/** Controls, invisible signs, halves of surrogate pairs, every kind of space, and the backslash that parsers turn around. */
const NEVER = /[\p{Cc}\p{Cf}\p{Cs}\p{Z}\\]/u;

/** Host, with brackets if it has any, and port. */
const AUTHORITY = /^(\[[^\]]*\]|[^:[]*)(?::(.*))?$/;

/** Other protocols that could be spoken to by way of HTTP: "port blocking" of the Fetch standard. */
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

/**
 * The first rule that a customer's URL breaks, or null when it may be called as far as the text tells. What its host resolves to is another question.
 *
 * A fragment is refused and not dropped: it never travels, so whoever wrote one expects something that would not happen.
 */
export function webhookUrlFault(text: string): UrlFault | null {
  const parsed = parse(text);
  return parsed instanceof URL ? null : parsed;
}

/** The URL, parsed; null where `webhookUrlFault` finds fault. */
export function parseWebhookUrl(text: string): URL | null {
  const parsed = parse(text);
  return parsed instanceof URL ? parsed : null;
}

function parse(text: string): URL | UrlFault {
  if (text.length > LIMITS.webhookUrl) return URL_FAULTS.tooLong;
  if (!text.startsWith(PREFIX)) return URL_FAULTS.notHttps;
  if (NEVER.test(text)) return URL_FAULTS.malformed;
  const [authority = ''] = text.slice(PREFIX.length).split(/[/?#]/, 1);
  if (authority.includes('@')) return URL_FAULTS.credentials;
  if (text.includes('#')) return URL_FAULTS.fragment;
  const [, host = '', port] = AUTHORITY.exec(authority) ?? [];
  if (host === '') return URL_FAULTS.malformed;
  if (port !== undefined && !isGoodPort(port)) return URL_FAULTS.port;
  const url = URL.parse(text);
  if (url === null) return URL_FAULTS.malformed;
  // Both as typed and as sent: letters of other scripts grow when they are percent-encoded.
  if (url.href.length > LIMITS.webhookUrl) return URL_FAULTS.tooLong;
  return HOST_FAULTS[classifyHost(host, url.hostname)] ?? url;
}

/** A number in its usual form: neither empty nor with zeros before it. */
function isGoodPort(port: string): boolean {
  return /^[1-9]\d{0,4}$/.test(port) && Number(port) <= 65_535 && !BAD_PORTS.has(Number(port));
}
