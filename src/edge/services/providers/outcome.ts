import type { Outcome } from '../../../core/outcome.ts';
import { answered, notEnabled, notFound, PROVIDER_DOWN, rateLimited, timedOut } from '../answers.ts';
import type { FlatFields } from '../flat.ts';
import type { Reading } from './reading.ts';

/** RR TTL of a value past its lifetime, seconds (RFC 8767 §4). */
const PAST_TTL = 30;

/**
 * What a reading looks like to the one who asked (decisions, section 5, Providers).
 *
 * @param ttl RR TTL of a value within its lifetime, seconds
 */
export function outcomeOf<T>(
  reading: Reading<T>,
  now: number,
  ttl: number,
  fields: (value: T) => FlatFields,
): Outcome {
  switch (reading.kind) {
    case 'value': {
      const { value, at, until, age } = reading;
      const rrTtl = age === 'fresh' ? ttl : Math.min(ttl, PAST_TTL);
      return answered(fields(value), { ttl: rrTtl, now, until, at, stale: age === 'stale' });
    }
    case 'missing':
      return notFound(now);
    case 'limited':
      return rateLimited(reading.retryAfter, now);
    case 'late':
      return { ...timedOut(now), ...UNKEPT };
    case 'down':
      return PROVIDER_DOWN;
    case 'off':
      return notEnabled(now);
  }
}

/** The next asker may have more luck: no cache of ours keeps it. */
const UNKEPT = { until: 0 } as const;

/** `then` for what is most often here already. */
export function after<T>(
  reading: Reading<T> | Promise<Reading<T>>,
  then: (reading: Reading<T>) => Outcome,
): Outcome | Promise<Outcome> {
  return reading instanceof Promise ? reading.then(then) : then(reading);
}
