/** Closed sets of logs and metrics: all text that leaves the process is a member of one of them. */

/** What became of a DNS question for which no signature was left. */
export const SIGNING_EVENTS = ['truncated', 'waited', 'refused'] as const;
export type SigningEvent = (typeof SIGNING_EVENTS)[number];

export const FEED_STATES = ['rebuilding', 'following', 'failing'] as const;

/** What keeps the view from following its source (`feed/follower/feed-faults.ts`). */
export const FEED_FAULTS = ['source', 'view', 'disk_full', 'other_store', 'format'] as const;

/** Where changes are read that did not come live. */
export const FEED_REPAIRS = ['stream', 'control'] as const;
export type FeedRepair = (typeof FEED_REPAIRS)[number];

/** What keeps control from publishing (`feed/publish/publisher.ts`). */
export const PUBLISHER_FAULTS = ['conflict', 'stream_failed', 'rewound', 'behind_stream', 'failed'] as const;

/** What an operator does about a message that was refused. */
export const FEED_MENDS = [
  'upgrade this node to the release of control',
  'make new credentials for this node, they lack a key that signs the feed',
  'expected for a minute after uqrp feed epoch new, else the database of control was exchanged, put the right one back or start this node with --accept-new-store',
  'compare the clocks of this machine and of control',
  'this node lacks the keys of the hour, see that it was not removed and control runs',
  'see who can write to the broker, a message was damaged, repeated or forged',
  'see that no two machines use one credentials file, and who can write to the broker, a message came a second time',
  'nothing to do, this node reads pages from control, the snapshot is of another release or machine',
  'nothing to do, this node reads pages from control, the snapshot does not fit the log, as after a restore',
  'this node reads pages from control, when it happens often see that the broker keeps its stream of snapshots whole',
] as const;
export type FeedMend = (typeof FEED_MENDS)[number];

/** What of the accounting failed: counts, rows of the query log, or the file of counts that were not sent. */
export const ACCOUNTING_PARTS = ['usage', 'query_log', 'spool'] as const;

/** What a full disk names, below UQRP_DATA_DIR. Null: PostgreSQL has a disk of its own, and other faults are of no disk. */
export const STORE_PATHS = ['uqrp.sqlite', null] as const;
export const VIEW_PATHS = ['view', 'incoming', null] as const;

/** The keys of a zone: `zsk` signs answers, `ksk` the keys. */
export const KEY_ROLES = ['zsk', 'ksk'] as const;
/** Steps of a key rollover (`dns/dnssec/keys/rollover.ts`). */
export const ROLLOVER_STEPS = ['publish', 'ds-added', 'switch', 'withdraw', 'remove'] as const;
/** What a due step of a rollover waits for (`zone-keys/automatic-rollover.ts`). */
export const ROLLOVER_WAITS = ['parent', 'resolvers', 'nodes'] as const;

/** How the transparency log is (`control/transparency/signer.ts`). */
export const TRANSPARENCY_STATES = ['absent', 'current', 'waiting', 'behind', 'damaged', 'keyless'] as const;
export type TransparencyState = (typeof TRANSPARENCY_STATES)[number];

/** What a witness said of a checkpoint (`control/transparency/witnesses.ts`). */
export const WITNESS_REPLIES = [
  'cosigned',
  'ahead',
  'other_root',
  'refused',
  'strange',
  'away',
  'less',
] as const;
export type WitnessReply = (typeof WITNESS_REPLIES)[number];

/** Why a view is thrown away at start. */
export const VIEW_DISCARDS = ['damaged', 'layout', 'untrusted'] as const;

/** Data providers of the public services. */
export const PROVIDER_NAMES = [
  'openmeteo',
  'metno',
  'frankfurter',
  'ecb',
  'coinbase',
  'kraken',
  'twelvedata',
  'finnhub',
] as const;
export type ProviderName = (typeof PROVIDER_NAMES)[number];

/** How a call to a provider ended. */
export const PROVIDER_OUTCOMES = ['value', 'unchanged', 'missing', 'limited', 'failed'] as const;
export type ProviderOutcome = (typeof PROVIDER_OUTCOMES)[number];

/** Why a process is not ready. */
export const UNREADY_REASONS = ['starting', 'keys', 'store', 'feed', 'workers', 'stopping'] as const;
export type UnreadyReason = (typeof UNREADY_REASONS)[number];

export const METHODS = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'] as const;
