import type { Tier } from '../base/tiers.ts';
import type { DeliveryError, DeliveryEvent, DeliveryStatus } from '../protocol/webhooks.ts';

// Times are milliseconds since the epoch, flags are 0 or 1, ids are UUID text, lists are JSON text.

/** Results of POST requests, given again when the same request comes again. */
export interface IdempotencyKeysTable {
  /** Hex SHA-256 of customer, scope of the credential, and key. */
  id: string;
  customer_id: string;
  /** Encrypted (`control/unit.ts`); empty while the unit of work that takes the key runs. */
  answer: Uint8Array;
  /** Length of `answer`. */
  octets: number;
  created_at: number;
}

/** Who owns namespaces, keys and webhooks. */
export interface CustomersTable {
  id: string;
  /** Of an organization; null: a user's own customer, which has the user's id. */
  name: string | null;
  tier: Tier;
  /** Updated with every write. The record cap is checked against it under the row's lock. */
  records_count: number;
  /** 1: it is being deleted. */
  closing: number;
  created_at: number;
}

/** A person who signs in. */
export interface UsersTable {
  id: string;
  /** Lower case, unique. */
  email: string;
  role: 'user' | 'admin';
  created_at: number;
}

/** `owner`: also manages members and API keys, and may delete the organization. */
export type MemberRole = 'owner' | 'member';

/** The users of a customer. A user's own customer has that user as its owner. */
export interface MembershipsTable {
  customer_id: string;
  user_id: string;
  role: MemberRole;
  created_at: number;
}

/** A sign-in. The id is the JWT's `sid`; the row is looked up on every call, so sign-out is immediate. */
export interface SessionsTable {
  id: string;
  user_id: string;
  /** The customer that the session acts for. */
  customer_id: string;
  created_at: number;
  expires_at: number;
  revoked_at: number | null;
  method: SignInMethod;
  /** At most a minute behind. */
  last_used_at: number | null;
}

export type SignInMethod = 'code' | 'passkey' | 'cli';

/** Codes that were mailed and not yet used. Rows are the same for addresses with and without an account. */
export interface SignInCodesTable {
  /** Keyed hash of the mail address. */
  address: string;
  /** 0 to `LIMITS.signInCodes` - 1: the key of the table bounds how many codes of an address live side by side. */
  slot: number;
  /** Keyed hash of the flow that asked for the code. */
  flow: string;
  /** Keyed hash of the address and the code: six digits could be guessed from a plain hash. */
  digest: string;
  /** Keyed hash of the network that asked; null: a browser that the address has signed in from. */
  network: string | null;
  /** Of the flow. Counted before the code is compared. */
  tries: number;
  expires_at: number;
}

/** Browsers from which a user has signed in by code. Strangers cannot use up what such a browser may ask for. */
export interface SignInBrowsersTable {
  /** Keyed hash of the mail address and the secret in the browser's cookie. */
  digest: string;
  user_id: string;
  expires_at: number;
}

/** Keys that sign session tokens. */
export interface JwtKeysTable {
  /** The period in which the key signs: every process computes the same number. */
  period: number;
  /** Unique; in the header of each token. */
  kid: string;
  /** JWK, JSON. */
  public_key: string;
  /** PKCS #8 in Base64, encrypted with the server's key (`core/secret-encryption.ts`). */
  private_key: Uint8Array;
}

export interface ApiKeysTable {
  id: string;
  customer_id: string;
  name: string;
  /** Lower-case hex SHA-256 of the token, unique. */
  digest: string;
  /** JSON array of `read`, `write`; empty means both. */
  operations: string;
  /** JSON array of namespace names; empty means all of the customer's. */
  namespaces: string;
  last_used_at: number | null;
  expires_at: number | null;
  created_at: number;
}

export interface NamespacesTable {
  id: string;
  name: string;
  customer_id: string;
  public_read: number;
  suspended: number;
  /** 1: it is being deleted. Its name is still taken; nothing else but the deletion sees it. */
  closing: number;
  /** Seconds that caches may keep an answer while the namespace is open. */
  max_ttl: number;
  records_count: number;
  created_at: number;
  updated_at: number;
}

export interface QueryTokensTable {
  id: string;
  namespace_id: string;
  name: string;
  /** Lower-case hex SHA-256, unique. */
  digest: string;
  expires_at: number;
  revoked_at: number | null;
  created_at: number;
  /** The user whose session minted it; null: an API key or the operator. */
  created_by: string | null;
}

export interface RecordsTable {
  id: string;
  namespace_id: string;
  /** Unique, lower case. */
  key: string;
  resource: string;
  version: string;
  data: Uint8Array;
  content_type: string;
  ttl_seconds: number;
  expires_at: number | null;
  created_at: number;
  updated_at: number;
}

/** One row, id 1: the last `seq` given out. */
export interface FeedHeadTable {
  id: number;
  seq: number;
}

export interface ChangeLogTable {
  seq: number;
  at: number;
  owner: string | null;
  cause: 'direct' | 'cascade' | 'expiry';
  type: string;
  namespace: string;
  /** Record changes only. */
  key: string | null;
  /** JSON of the rest of the Change body, record payloads aside. */
  body: string;
  /** Payload of an upserted record; null for other types, and once a later delete or expiry erased it. */
  data: Uint8Array | null;
}

/** Rate limits shared by several processes on PostgreSQL; a single process keeps them in memory. */
export interface RateWindowsTable {
  key: string;
  started_at: number;
  count: number;
}

export interface WebhooksTable {
  id: string;
  customer_id: string;
  name: string;
  url: string;
  /** JSON array of event names. */
  events: string;
  /** JSON array of namespace names; empty means all of the customer's. */
  namespaces: string;
  enabled: number;
  /** Failed attempts in a row. */
  failure_count: number;
  last_triggered_at: number | null;
  /** Lower-case hex SHA-256 of `secret`. */
  secret_digest: string;
  /** `signing_secret`, encrypted with the server's key (`core/secret-encryption.ts`). */
  signing_secret: Uint8Array;
  /** Changes of the log up to this `seq` are before its life and never delivered: set when made and when enabled again. */
  starts_after: number;
  /** The earliest `next_attempt_at` of its pending deliveries; null when there are none. */
  next_due_at: number | null;
  /** After a failed attempt nothing is sent before this time; 0: at once. */
  rests_until: number;
  /** The lease name of the process that delivers to it; null: no process does. */
  claim: string | null;
  /** The delivery whose attempt began last under the lease; null without a lease. */
  claimed_delivery: string | null;
  /** The end of the lease: from then on any process may claim it. 0 without a lease. */
  claimed_until: number;
  /** Time of its last attempt; 0: never. Of a customer's webhooks the one with the earliest comes first. */
  served_at: number;
  /** Milliseconds that the last attempt took; null: none was made. */
  last_attempt_ms: number | null;
  /** JSON: attempts of the last hour by minute (`control/webhooks/hourly-attempts.ts`). */
  attempt_minutes: string;
  /** From this time on its owner is to be notified that it was disabled; null: no notice is pending. */
  notice_due_at: number | null;
  /** What the server disabled it for; null: it is enabled, or its owner disabled it. */
  disabled_by: 'failures' | 'tier' | null;
  /** What is left to do in small units: end its waiting deliveries, or delete it. Null: nothing. */
  cleanup: 'end_waiting' | 'delete' | null;
  created_at: number;
  /** The user whose session made it; null: an API key. */
  created_by: string | null;
}

export interface WebhookDeliveriesTable {
  id: string;
  webhook_id: string;
  event: DeliveryEvent;
  /** The customer's number of the event; null for tests. */
  seq: number | null;
  status: DeliveryStatus;
  response_code: number | null;
  error: DeliveryError | null;
  /** Attempts started: counted when a process claims the delivery. */
  attempts: number;
  duration_ms: number | null;
  created_at: number;
  last_attempt_at: number | null;
  /** Null once it has ended. */
  next_attempt_at: number | null;
  /** What is signed and sent, frozen when it was enqueued; null once the delivery has ended. */
  body: Uint8Array | null;
}

/** How far the log was worked through, where that is kept with the data: `webhooks`, the fan-out; `erasure`, of payloads. */
export interface FeedCursorsTable {
  name: string;
  seq: number;
  /** Latest time given to what was enqueued: it never goes back, so that order by time is order by `seq`. */
  at: number;
}

/** The last number given to an event of a customer. */
export interface EventCountersTable {
  customer_id: string;
  seq: number;
}

/** `epoch`: random, made with the database. `secret_fingerprint`: of the UQRP_SECRET that the database was made with. */
export type ServiceFact = 'epoch' | 'secret_fingerprint';

/** Facts about the database as a whole, each written once. */
export interface ServiceFactsTable {
  name: ServiceFact;
  value: string;
}

/** The signing keys of a zone. */
export interface KeySetsTable {
  zone: string;
  /** One more with every change. */
  version: number;
  /** JSON, private keys encrypted; see `edge/dnssec/keys/key-encryption.ts`. */
  document: string;
  updated_at: number;
}

/** Hourly keys of the feed (`feed/keys/`). */
export interface FeedKeysTable {
  /** The period in which batches are made with the key: every process computes the same number. */
  period: number;
  /** 32 octets in Base64, encrypted (`core/secret-encryption.ts`). */
  secret: Uint8Array;
}

/** Private reads that were answered with data, over all nodes. */
export interface UsageHoursTable {
  /** The namespace may be deleted by now. */
  namespace_id: string;
  /** Start of the hour. */
  hour: number;
  answers: number;
}

/** Batches of a node that were added, to `usage_hours` or to `query_log_blocks`: a repeated one counts once. */
export interface UsageBatchesTable {
  node: string;
  batch: string;
  added_at: number;
}

/** Invitations that were mailed and not yet accepted. */
export interface InvitationsTable {
  id: string;
  customer_id: string;
  /** Lower case, unique in the organization. */
  email: string;
  role: MemberRole;
  /** Lower-case hex SHA-256 of the token, unique. */
  digest: string;
  expires_at: number;
  created_at: number;
}

/** Public keys with which a user signs in. */
export interface PasskeysTable {
  id: string;
  user_id: string;
  name: string;
  /** Base64url, unique over all users. */
  credential_id: string;
  /** COSE key (RFC 9052 §7). */
  public_key: Uint8Array;
  /** The authenticator's count at the last sign-in; 0: it does not count. */
  sign_count: number;
  /** JSON array of how a browser reaches the authenticator (WebAuthn §5.8.4). */
  transports: string;
  backed_up: number;
  last_used_at: number | null;
  created_at: number;
}

/** Challenges that a passkey was added or signed in with. They are void although they have not ended. */
export interface UsedChallengesTable {
  /** Lower-case hex SHA-256. */
  digest: string;
  user_id: string;
  expires_at: number;
}

/** Private reads of namespaces that are deleted by now. Their customer is known, their name is not. */
export interface UsageDeletedHoursTable {
  customer_id: string;
  hour: number;
  answers: number;
}
