import { isIP } from 'node:net';
import type { Resolve } from './connection.ts';
import { deadline } from './request.ts';
import { isPublicAddress, parseWebhookUrl, URL_FAULTS, type UrlFault, webhookUrlFault } from './target.ts';

/** Milliseconds for DNS at registration. */
const DNS_TIMEOUT_MS = 2000;

/**
 * Checks the text, then that every address of the host is public. All addresses give the same fault, which hides names of the
 * internal network. A host that does not resolve now is accepted. Never rejects.
 */
export async function checkWebhookUrl(
  text: string,
  resolve: Resolve,
  signal: AbortSignal,
): Promise<UrlFault | null> {
  const url = parseWebhookUrl(text);
  if (url === null) return webhookUrlFault(text);
  // `webhookUrlFault` has checked literals.
  if (url.hostname.startsWith('[') || isIP(url.hostname) !== 0) return null;
  const patience = deadline(DNS_TIMEOUT_MS, signal);
  try {
    const addresses = await resolve(url.hostname, patience.signal);
    return addresses.every(isPublicAddress) ? null : URL_FAULTS.host;
  } finally {
    patience.release();
  }
}
