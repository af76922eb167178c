/** Closed sets that logs and metrics share: whatever leaves the process as text is a member of one of them. */

/** Ways that DNS messages travel. Statistics use the position as an index. */
export const TRANSPORTS = ['udp', 'tcp', 'dot', 'doh'] as const;
export type Transport = (typeof TRANSPORTS)[number];

/** How packets over UDP are received and sent. */
export const UDP_PATHS = ['batch', 'node'] as const;

/** What became of a connection. */
export const CONNECTION_EVENTS = ['opened', 'closed', 'refused', 'evicted'] as const;
export type ConnectionEvent = (typeof CONNECTION_EVENTS)[number];

/** What the rate limit did to replies over UDP that were over it. */
export const LIMITED_EVENTS = ['dropped', 'slipped'] as const;
export type LimitedEvent = (typeof LIMITED_EVENTS)[number];

/** What became of a DNS question for which no signature was left. */
export const SIGNING_EVENTS = ['truncated', 'waited', 'refused'] as const;
export type SigningEvent = (typeof SIGNING_EVENTS)[number];

export const FEED_STATES = ['rebuilding', 'following', 'failing'] as const;

/** What keeps the view from following its source (`feed/feed-faults.ts`). */
export const FEED_FAULTS = ['source', 'view', 'disk_full', 'other_store'] as const;

/** Why a view is thrown away at start. */
export const VIEW_DISCARDS = ['damaged', 'layout', 'untrusted'] as const;

/** Data providers of the public services. */
export const PROVIDERS = [
  'openmeteo',
  'metno',
  'frankfurter',
  'ecb',
  'coinbase',
  'kraken',
  'twelvedata',
  'finnhub',
] as const;
export type ProviderName = (typeof PROVIDERS)[number];

/** How a call to a provider ended. */
export const PROVIDER_OUTCOMES = ['value', 'unchanged', 'missing', 'limited', 'failed'] as const;
export type ProviderOutcome = (typeof PROVIDER_OUTCOMES)[number];

/** Why a process is not ready. */
export const UNREADY_REASONS = ['starting', 'keys', 'store', 'feed', 'workers', 'stopping'] as const;
export type UnreadyReason = (typeof UNREADY_REASONS)[number];

export const METHODS = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'] as const;
