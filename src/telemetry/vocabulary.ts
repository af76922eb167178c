/** Closed sets of logs and metrics: all text that leaves the process is a member of one of them. */

/** What became of a DNS question for which no signature was left. */
export const SIGNING_EVENTS = ['truncated', 'waited', 'refused'] as const;
export type SigningEvent = (typeof SIGNING_EVENTS)[number];

export const FEED_STATES = ['rebuilding', 'following', 'failing'] as const;

/** What keeps the view from following its source (`feed/feed-faults.ts`). */
export const FEED_FAULTS = ['source', 'view', 'disk_full', 'other_store', 'format'] as const;

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
