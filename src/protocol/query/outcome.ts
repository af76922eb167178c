import type { EnvelopeErrorCode } from './envelope.ts';
import type { MalformedCause } from './malformed.ts';

/** Why a query failed. Each cause has an extended error. */
export type FailureCause = 'storage' | 'provider' | 'signing' | 'too-large' | 'internal';

/**
 * The result of a query. `until` is the millisecond at which time alone makes it untrue (an expiry, a TTL that ends): no
 * cache serves it after that.
 */
export type Outcome =
  | {
      readonly kind: 'answer';
      /** The TXT value: its character strings, concatenated. */
      readonly text: Uint8Array;
      /** Further TXT records of the answer. */
      readonly more?: readonly Uint8Array[];
      /** Seconds. */
      readonly ttl: number;
      readonly until: number;
      /** Expired data, served because the source is unreachable (RFC 8914, code 3). */
      readonly stale?: boolean;
    }
  | { readonly kind: 'empty'; readonly reason: 'missing' | 'expired'; readonly until: number }
  | {
      readonly kind: 'malformed';
      readonly code: EnvelopeErrorCode;
      /** Absent: `causeOfCode(code)`. */
      readonly cause?: MalformedCause;
      readonly text?: Uint8Array;
      /** Absent: the name stays malformed. */
      readonly until?: number;
    }
  | { readonly kind: 'refused'; readonly until: number }
  | { readonly kind: 'failed'; readonly cause: FailureCause; readonly text?: Uint8Array };

/** Only a Change can make the outcome untrue. */
export const FOREVER = Number.MAX_SAFE_INTEGER;
