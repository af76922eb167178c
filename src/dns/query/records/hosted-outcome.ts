import { hostedEnvelope } from '../../../protocol/query/envelope.ts';
import { FOREVER, type Outcome } from '../../../protocol/query/outcome.ts';
import type { HostedRecord } from '../../../view/hosted/view.ts';

const MISSING: Outcome = { kind: 'empty', reason: 'missing', until: FOREVER };
const EXPIRED: Outcome = { kind: 'empty', reason: 'expired', until: FOREVER };

/** How a record may be read, and what the view knows where it has none. */
export interface HostedReading {
  /** RR TTL in seconds, 0 for a private answer. A record that expires sooner has a shorter one. Asked where there is a record. */
  readonly maxTtl: () => number;
  /** Asked where the view has no record. */
  readonly hasExpired: () => boolean;
}

/**
 * The outcome for a stored record. An expired record is NODATA even before its erasure arrives. Why an answer is empty is for the query log
 * alone: both answers are the same octets.
 */
export function hostedOutcome(record: HostedRecord | null, reading: HostedReading, now: number): Outcome {
  if (record === null) return reading.hasExpired() ? EXPIRED : MISSING;
  const { expiresAt } = record;
  if (expiresAt !== null && expiresAt <= now) return EXPIRED;
  const text = hostedEnvelope(record.data, record.format, record.ttlSeconds);
  const maxTtl = reading.maxTtl();
  if (maxTtl === 0) return { kind: 'answer', text, ttl: 0, until: expiresAt ?? FOREVER };
  return { kind: 'answer', text, ...countdown(expiresAt, maxTtl, now) };
}

/** The TTL and the time until which it holds: constant until `maxTtl` before the expiry, then one second each. */
function countdown(expiresAt: number | null, maxTtl: number, now: number): { ttl: number; until: number } {
  if (expiresAt === null) return { ttl: maxTtl, until: FOREVER };
  const ttl = Math.min(maxTtl, Math.floor((expiresAt - now) / 1000));
  return { ttl, until: Math.min(expiresAt, expiresAt - ttl * 1000 + 1) };
}
