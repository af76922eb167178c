import type { EnvelopeErrorCode } from './envelope.ts';

/** Why a query failed. Each cause has an extended error. */
export type FailureCause = 'storage' | 'withheld' | 'provider' | 'signing' | 'too-large' | 'internal';

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

/** Extended error texts of malformed queries. They are fixed: none repeats a part of the question. */
export const MALFORMED_TEXTS = {
  operation: 'unknown operation',
  label: 'label not allowed',
  version: 'version not understood',
  unit: 'unknown unit, see info.units.public.v1',
  units: 'units of different kinds',
  value: 'value not understood',
  base: 'base is not 2 to 36',
  place: 'place not understood',
  date: 'date not understood',
  address: 'address not understood',
  parameter: 'missing parameter',
  ticker: 'ticker or exchange not understood',
  'item-key': 'item key not understood',
  'as-of': 'as-of not understood',
} as const;

export type MalformedCause = keyof typeof MALFORMED_TEXTS;

const BY_CODE: Partial<Readonly<Record<EnvelopeErrorCode, MalformedCause>>> = {
  E001: 'label',
  E002: 'operation',
  E003: 'version',
};

/** Codes for values have the cause `value`. */
export function causeOfCode(code: EnvelopeErrorCode): MalformedCause {
  return BY_CODE[code] ?? 'value';
}

/**
 * What became of a query: answered with records, empty, empty because the record has expired, malformed or failed,
 * refused for lack of authorisation. Stored and shown under these names; statistics use the position as an index.
 */
export const QUERY_STATUSES = ['hit', 'miss', 'expired', 'error', 'refused'] as const;
export type QueryStatus = (typeof QUERY_STATUSES)[number];
