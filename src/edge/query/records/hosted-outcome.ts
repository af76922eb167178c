import { hostedEnvelope } from '../../../core/query/envelope.ts';
import { FOREVER, type Outcome } from '../../../core/query/outcome.ts';
import type { HostedRecord } from '../../hosted/view.ts';

/** RR TTL of a public-read answer, seconds. A record that expires sooner has a shorter one. */
const OPEN_TTL = 60;

const MISSING: Outcome = { kind: 'empty', reason: 'missing', until: FOREVER };
const EXPIRED: Outcome = { kind: 'empty', reason: 'expired', until: FOREVER };

/** The outcome for a stored record. An expired record is NODATA even before its erasure arrives. `isPrivate`: RR TTL 0. */
export function hostedOutcome(record: HostedRecord | null, isPrivate: boolean, now: number): Outcome {
  if (record === null) return MISSING;
  const { expiresAt } = record;
  if (expiresAt !== null && expiresAt <= now) return EXPIRED;
  const text = hostedEnvelope(record.data, record.format, record.ttlSeconds);
  if (isPrivate) return { kind: 'answer', text, ttl: 0, until: expiresAt ?? FOREVER };
  return { kind: 'answer', text, ...countdown(expiresAt, now) };
}

/** The TTL and the time until which it holds: constant until the last minute, then one second each. */
function countdown(expiresAt: number | null, now: number): { ttl: number; until: number } {
  if (expiresAt === null) return { ttl: OPEN_TTL, until: FOREVER };
  const ttl = Math.min(OPEN_TTL, Math.floor((expiresAt - now) / 1000));
  return { ttl, until: Math.min(expiresAt, expiresAt - ttl * 1000 + 1) };
}
