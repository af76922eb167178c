import type { EnvelopeErrorCode } from '../errors.ts';
import type { MalformedCause } from './malformed.ts';

/** What a failed query died of; each has its extended error. */
export type FailureCause = 'storage' | 'provider' | 'signing' | 'too-large' | 'internal';

/**
 * What became of a query. `edge/query/reply/reply-body.ts` alone turns it into RCODE, records, TTL and extended error.
 *
 * `until`, where present, is the millisecond at which the outcome stops being true by the passing of time alone (a record
 * or token that expires, a TTL that counts down): nothing may be served from a cache past it.
 */
export type Outcome =
  | {
      readonly kind: 'answer';
      /** The TXT value: one record's character strings, concatenated. */
      readonly text: Uint8Array;
      /** RR TTL in seconds. */
      readonly ttl: number;
      readonly until: number;
      /** Served past its time because its source is unreachable (RFC 8914, code 3). */
      readonly stale?: boolean;
    }
  | { readonly kind: 'empty'; readonly reason: 'missing' | 'expired'; readonly until: number }
  | {
      readonly kind: 'malformed';
      readonly code: EnvelopeErrorCode;
      /** Without it the cause that the code stands for. */
      readonly cause?: MalformedCause;
      readonly text?: Uint8Array;
      /** Without it the name is malformed for good. */
      readonly until?: number;
    }
  | { readonly kind: 'refused'; readonly until: number }
  | { readonly kind: 'failed'; readonly cause: FailureCause; readonly text?: Uint8Array };

/** No end in time: only a Change can make the outcome untrue. */
export const FOREVER = Number.MAX_SAFE_INTEGER;
