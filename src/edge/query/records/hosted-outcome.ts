import { hostedEnvelope } from '../../../core/query/envelope.ts';
import { FOREVER, type Outcome } from '../../../core/query/outcome.ts';
import type { HostedRecord } from '../../hosted/view.ts';

/** RR TTL of a public-read answer, seconds, unless the record ends sooner. */
const OPEN_TTL = 60;

const MISSING: Outcome = { kind: 'empty', reason: 'missing', until: FOREVER };
const EXPIRED: Outcome = { kind: 'empty', reason: 'expired', until: FOREVER };

/**
 * The outcome for a stored record. A record past its `expiresAt` is gone even when its erasure has not arrived yet
 * (it answers NODATA).
 *
 * @param isPrivate RR TTL 0; else at most a minute, and never longer than the record lives
 */
export function hostedOutcome(record: HostedRecord | null, isPrivate: boolean, now: number): Outcome {
  if (record === null) return MISSING;
  const { expiresAt } = record;
  if (expiresAt !== null && expiresAt <= now) return EXPIRED;
  const text = hostedEnvelope(record.data, record.format, record.ttlSeconds);
  if (isPrivate) return { kind: 'answer', text, ttl: 0, until: expiresAt ?? FOREVER };
  return { kind: 'answer', text, ...countdown(expiresAt, now) };
}

/** The TTL, and how long it stays that: constant until the record's last minute, then a second at a time. */
function countdown(expiresAt: number | null, now: number): { ttl: number; until: number } {
  if (expiresAt === null) return { ttl: OPEN_TTL, until: FOREVER };
  const ttl = Math.min(OPEN_TTL, Math.floor((expiresAt - now) / 1000));
  return { ttl, until: Math.min(expiresAt, expiresAt - ttl * 1000 + 1) };
}
