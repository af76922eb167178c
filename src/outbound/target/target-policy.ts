import { isPublicAddress } from './public-address.ts';
import { webhookUrlFault } from './url-rules.ts';

/** Which targets a client may call. Both methods are called, the second for every address that the host resolves to. */
export interface TargetPolicy {
  /** Whether the URL may be called at all. */
  allows(url: URL): boolean;
  /** Whether a connection may be made to this literal address on behalf of the URL. */
  admits(url: URL, address: string): boolean;
}

/** TLS to public addresses, for URLs of our own choosing. */
export const PUBLIC_ONLY: TargetPolicy = {
  allows: ({ protocol, username, password }) => protocol === 'https:' && username === '' && password === '',
  admits: (_url, address) => isPublicAddress(address),
};

/**
 * What a URL given by a customer gets, always: the rules that it was registered under, asked again at every attempt, and
 * public addresses alone. No setting opens it.
 */
export const WEBHOOK_TARGETS: TargetPolicy = {
  allows: ({ href }) => webhookUrlFault(href) === null,
  admits: (_url, address) => isPublicAddress(address),
};

/**
 * `PUBLIC_ONLY`, and besides the exact origins that the operator configured, at whatever address and over plain HTTP too:
 * a provider's base may be a server of the operator's own. Not for URLs that come from anybody else.
 */
export function operatorOrigins(bases: readonly string[]): TargetPolicy {
  const origins = new Set(bases.map((base) => new URL(base).origin));
  return {
    allows: (url) => origins.has(url.origin) || PUBLIC_ONLY.allows(url),
    admits: (url, address) => origins.has(url.origin) || PUBLIC_ONLY.admits(url, address),
  };
}
