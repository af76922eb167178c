import { isIP } from 'node:net';
import type { Resolve } from '../connection/resolver.ts';
import { deadline } from '../deadline.ts';
import { isPublicAddress } from './public-address.ts';
import { parseWebhookUrl, URL_FAULTS, type UrlFault, webhookUrlFault } from './url-rules.ts';

/** How long a registration waits for the DNS, milliseconds. */
const PATIENCE_MS = 2000;

/**
 * Whether a URL may be registered: the rules of its text, then the addresses of its host, of which every one must be public.
 * One fault stands for every address, so that nobody learns from it what a name means inside our network. A host that cannot
 * be resolved now is accepted: its deliveries fail until it can. Never rejects.
 */
export async function checkWebhookUrl(
  text: string,
  resolve: Resolve,
  signal: AbortSignal,
): Promise<UrlFault | null> {
  const url = parseWebhookUrl(text);
  if (url === null) return webhookUrlFault(text);
  // A literal has been judged with the text.
  if (url.hostname.startsWith('[') || isIP(url.hostname) !== 0) return null;
  const patience = deadline(PATIENCE_MS, signal);
  try {
    const addresses = await resolve(url.hostname, patience.signal);
    return addresses.every(isPublicAddress) ? null : URL_FAULTS.host;
  } finally {
    patience.release();
  }
}
