import { randomInt } from 'node:crypto';
import { type EnvelopeErrorCode, errorEnvelope } from '../protocol/query/envelope.ts';
import { FOREVER, type MalformedCause, type Outcome } from '../protocol/query/outcome.ts';
import { type FlatFields, flatEnvelope } from './flat.ts';

/** TTL of an error envelope, seconds. Rate limits and timeouts have 0. */
const ERROR_TTL = 30;
/** `until` of an answer that is not cached, also where the clock is set back. */
const NEVER_KEPT = 0;

interface AnswerTimes {
  /** RR TTL, seconds. */
  readonly ttl: number;
  readonly now: number;
  /** Milliseconds since the epoch at which the values change. Default: after the TTL. */
  readonly until?: number;
  readonly stale?: boolean;
  /** Time of the values, for `ts`, milliseconds since the epoch. Default: now. */
  readonly at?: number;
}

/** A computed answer. `ts` is the last field. */
export function answered(fields: FlatFields, { ttl, now, until, stale, at = now }: AnswerTimes): Outcome {
  return {
    kind: 'answer',
    text: flatEnvelope({ ...fields, ts: Math.floor(at / 1000) }),
    ttl,
    until: until ?? now + ttl * 1000,
    ...(stale === true ? { stale } : {}),
  };
}

/** An answer that never changes: it has no `ts`. */
export function constant(fields: FlatFields, ttl: number): Outcome {
  return { kind: 'answer', text: flatEnvelope(fields), ttl, until: FOREVER };
}

/** An answer that is true at this moment only, or of chance: TTL 0, and no cache keeps it. */
export function momentary(fields: FlatFields, now: number): Outcome {
  return answered(fields, { ttl: 0, now, until: NEVER_KEPT });
}

function errorAnswer(code: EnvelopeErrorCode, now: number): Outcome {
  const text = Buffer.from(errorEnvelope(code));
  return { kind: 'answer', text, ttl: ERROR_TTL, until: now + ERROR_TTL * 1000 };
}

/** E004: the label is valid and nothing has this name. */
export const notFound = (now: number): Outcome => errorAnswer('E004', now);
/** E011: the provider is too slow. The fetch continues, so a later query finds its value. */
export function timedOut(now: number): Outcome {
  return { kind: 'answer', text: Buffer.from(errorEnvelope('E011')), ttl: 0, until: now };
}
export const notEnabled = (now: number): Outcome => errorAnswer('E013', now);

/** E010. @param retryAfter whole seconds, at least 1 */
export function rateLimited(retryAfter: number, now: number): Outcome {
  const text = Buffer.from(errorEnvelope('E010', Math.max(1, Math.ceil(retryAfter))));
  return { kind: 'answer', text, ttl: 0, until: now };
}

/** FORMERR without an envelope: labels outside the grammar. The cause is sent as an extended error. */
export function malformed(cause: MalformedCause): Outcome {
  return { kind: 'malformed', code: 'E005', cause };
}

/** FORMERR with envelope E005 (docs/SERVICES.md, stock). */
export function malformedWithEnvelope(cause: MalformedCause, until: number): Outcome {
  return { kind: 'malformed', code: 'E005', cause, text: Buffer.from(errorEnvelope('E005')), until };
}

/** SERVFAIL: all sources are down and the cache is empty. Resolvers do not forward its envelope E009. */
export const PROVIDER_DOWN: Outcome = {
  kind: 'failed',
  cause: 'provider',
  text: Buffer.from(errorEnvelope('E009')),
};

/**
 * A whole number of `min` to `max`, each with the same chance: crypto.randomInt repeats a draw that would be biased. The two
 * lie less than 2^48 apart, or it throws.
 */
export function draw(min: number, max: number): number {
  return randomInt(min, max + 1);
}

/** A whole number of a label: `n` before it is the minus sign, as in `units`. */
const INTEGER = /^([n-]?)(0|[1-9][0-9]*)$/;

/**
 * Parses digits without leading zeros. A hyphen is a minus sign too, which only a `b32-` or `hex-` label can begin with.
 * @param digits the most that there may be; 15 are exact
 * @returns null outside the grammar
 */
export function parseInteger(text: string, digits: number): number | null {
  const match = INTEGER.exec(text);
  if (match === null || match[2]!.length > digits) return null;
  const size = Number(match[2]);
  return match[1] === '' || size === 0 ? size : -size;
}
