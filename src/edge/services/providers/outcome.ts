import type { Outcome } from '../../../core/query/outcome.ts';
import { answered, notEnabled, notFound, PROVIDER_DOWN, rateLimited, timedOut } from '../answers.ts';
import type { FlatFields } from '../flat.ts';
import type { Reading } from './reading.ts';

/** RR TTL of a value past its lifetime, seconds (RFC 8767 §4). */
const PAST_TTL = 30;
/** Least RR TTL of a value within its lifetime, seconds. */
const FRESH_TTL_MIN = 5;
/**
 * The TTL falls in steps of a 120th of the lifetime, at least a second. No cache of this server holds an answer for longer than
 * one step, and a popular name costs one signature for each step.
 */
const STEPS = 120;

/**
 * The outcome of a query from a reading (docs/SERVICES.md, Providers).
 *
 * @param ttl RR TTL of a value that was fetched just now, seconds
 */
export function outcomeOf<T>(
  reading: Reading<T>,
  now: number,
  ttl: number,
  fields: (value: T) => FlatFields,
): Outcome {
  switch (reading.kind) {
    case 'value': {
      const { value, time, at, freshUntil, until } = reading;
      const times = now < freshUntil ? falling(at, freshUntil, now, ttl) : past(until, now, ttl);
      return answered(fields(value), { ...times, now, at: time });
    }
    case 'missing':
      return notFound(now);
    case 'limited':
      return rateLimited(reading.retryAfter, now);
    case 'late':
      return timedOut(now);
    case 'down':
      return PROVIDER_DOWN;
    case 'off':
      return notEnabled(now);
  }
}

interface Times {
  /** RR TTL, seconds. */
  readonly ttl: number;
  readonly until: number;
  readonly stale?: boolean;
}

/** The service's TTL less the age of the value. */
function falling(at: number, freshUntil: number, now: number, ttl: number): Times {
  const stepMs = Math.max(1, Math.floor(ttl / STEPS)) * 1000;
  const age = Math.max(0, now - at);
  const begun = age - (age % stepMs);
  return {
    ttl: Math.max(FRESH_TTL_MIN, ttl - begun / 1000),
    until: Math.min(freshUntil, at + begun + stepMs),
  };
}

/** The times of a value past its lifetime: the next one is being fetched, or all sources are down. */
function past(until: number, now: number, ttl: number): Times {
  return { ttl: Math.min(ttl, PAST_TTL), until: Math.max(until, now), stale: true };
}

/** Like `then`, but synchronous where the reading is here already. */
export function after<T>(
  reading: Reading<T> | Promise<Reading<T>>,
  then: (reading: Reading<T>) => Outcome,
): Outcome | Promise<Outcome> {
  return reading instanceof Promise ? reading.then(then) : then(reading);
}
