import type { Outcome } from '../../protocol/query/outcome.ts';
import {
  answered,
  type FlatFields,
  notEnabled,
  notFoundAnswer,
  PROVIDER_DOWN,
  rateLimited,
  timedOut,
} from '../answers.ts';
import type { Service } from '../service.ts';

/** A provided service: what it says of parameters, or how it asks its provider where these are valid. */
interface Provided extends Pick<Service, 'resource' | 'operation' | 'enabled' | 'about'> {
  readonly plan: (params: readonly string[], now: number) => Outcome | (() => Outcome | Promise<Outcome>);
}

const NO_TEXT = new Uint8Array();

/**
 * A service whose provider is asked for the text of a TXT record alone. Resolvers ask each name for other types too, of which
 * a provider knows nothing: with it down, slow or out of budget there is a TXT record all the same.
 */
export function providedService({ plan, ...service }: Provided): Service {
  return {
    ...service,
    answer(params, now) {
      const found = plan(params, now);
      return typeof found === 'function' ? found() : found;
    },
    presence(params, now) {
      const found = plan(params, now);
      if (typeof found !== 'function') return found;
      const { ttl } = service.about;
      return { kind: 'answer', text: NO_TEXT, ttl, until: now + ttl * 1000 };
    },
  };
}

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
      return notFoundAnswer(now);
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

/** Result for a key of a feed. Plain data that crosses threads. Times in milliseconds since the epoch. */
export type Reading<T> =
  | {
      readonly kind: 'value';
      readonly value: T;
      /** The source's time of the value, else the time of the fetch. */
      readonly time: number;
      /** When it was fetched: its age counts from here. */
      readonly at: number;
      /** End of the lifetime: the value is stale from here on (RFC 8767). */
      readonly freshUntil: number;
      /** When the worker should ask again. */
      readonly until: number;
    }
  | { readonly kind: 'missing'; readonly until: number }
  /** No call is allowed now. `retryAfter`: whole seconds, at least 1. */
  | { readonly kind: 'limited'; readonly retryAfter: number }
  /** The fetch is still running. */
  | { readonly kind: 'late' }
  | { readonly kind: 'down' }
  | { readonly kind: 'off' };
