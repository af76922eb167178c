import { isPublicAddress } from './public-address.ts';
import { webhookUrlFault } from './url-rules.ts';

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
