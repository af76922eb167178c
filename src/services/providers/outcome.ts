import type { Outcome } from '../../protocol/query/outcome.ts';
import { answered, notEnabled, notFound, PROVIDER_DOWN, rateLimited, timedOut } from '../answers.ts';
import type { FlatFields } from '../flat.ts';
import type { Reading } from './reading.ts';

/** RR TTL of a stale value, seconds (RFC 8767 §4). */
const PAST_TTL = 30;
/** Least RR TTL of a fresh value, seconds. */
const FRESH_TTL_MIN = 5;
/** Steps in which the TTL falls during a lifetime, at least a second each. A popular name costs one signature per step. */
const STEPS = 120;

/** The outcome of a query from a reading (docs/SERVICES.md, Providers). `ttl`: of a value fetched just now, seconds. */
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

/** The service's TTL minus the age of the value. */
function falling(at: number, freshUntil: number, now: number, ttl: number): Times {
  const stepMs = Math.max(1, Math.floor(ttl / STEPS)) * 1000;
  const age = Math.max(0, now - at);
  const begun = age - (age % stepMs);
  return {
    ttl: Math.max(FRESH_TTL_MIN, ttl - begun / 1000),
    until: Math.min(freshUntil, at + begun + stepMs),
  };
}

/** The times of a stale value: the next one is being fetched, or all sources are down. */
function past(until: number, now: number, ttl: number): Times {
  return { ttl: Math.min(ttl, PAST_TTL), until: Math.max(until, now), stale: true };
}

/** `then` that runs synchronously when the reading is available. */
export function after<T>(
  reading: Reading<T> | Promise<Reading<T>>,
  then: (reading: Reading<T>) => Outcome,
): Outcome | Promise<Outcome> {
  return reading instanceof Promise ? reading.then(then) : then(reading);
}
