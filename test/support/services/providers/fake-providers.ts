import type { FeedName, FeedValues } from '../../../../src/services/providers/feeds.ts';
import type { Reading } from '../../../../src/services/providers/outcome.ts';
import type { Providers } from '../../../../src/services/providers/worker.ts';

/** Providers that give one reading for everything, and record what they were asked. */
export interface FakeProviders extends Providers {
  readonly asked: string[];
}

export function fakeProviders<F extends FeedName>(feed: F, reading: Reading<FeedValues[F]>): FakeProviders {
  const asked: string[] = [];
  const ask = (name: FeedName, key: string): Reading<FeedValues[F]> => {
    asked.push(`${name} ${key}`);
    return reading;
  };
  return { asked, has: (name) => name === feed, ask: ask as Providers['ask'] };
}

/** A reading of a value that was fetched at `now` and lasts ten seconds. */
export function freshReading<T>(value: T, now: number): Reading<T> {
  const until = now + 10_000;
  return { kind: 'value', value, time: now, at: now, freshUntil: until, until };
}
