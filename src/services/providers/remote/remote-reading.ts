/** A reading on its way from control to an edge. Ages in place of times, because their clocks may differ. */
import type { CachedReading } from '../client/reading-cache.ts';
import type { Unavailable } from '../client/reading-client.ts';
import type { Reading } from '../reading.ts';

export type RemoteReading =
  | {
      readonly kind: 'value';
      readonly value: unknown;
      /** The source's time of the value, milliseconds since the epoch. */
      readonly time: number;
      /** Milliseconds since it was fetched, and until the end of its lifetime; below 0: it is stale. */
      readonly ageMs: number;
      readonly leftMs: number;
    }
  | { readonly kind: 'missing'; readonly leftMs: number }
  | Unavailable;

export function remoteReading(reading: Reading<unknown>, now: number): RemoteReading {
  if (reading.kind === 'missing') return { kind: 'missing', leftMs: reading.until - now };
  if (reading.kind !== 'value') return reading;
  const { value, time, at, freshUntil } = reading;
  return { kind: 'value', value, time, ageMs: Math.max(0, now - at), leftMs: freshUntil - now };
}

/** What the cache of the edge keeps. @param now of the edge's clock */
export function cachedReading(remote: RemoteReading, now: number): CachedReading | Unavailable {
  const rest = { notBefore: 0, source: 'control', validator: null } as const;
  if (remote.kind === 'missing') {
    return { value: null, time: now, at: now, freshUntil: now + remote.leftMs, ...rest };
  }
  if (remote.kind !== 'value') return remote;
  const { value, time, ageMs, leftMs } = remote;
  return { value, time, at: now - ageMs, freshUntil: now + leftMs, ...rest };
}
