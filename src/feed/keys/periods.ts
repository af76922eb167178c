/**
 * The life of an hourly key. It exists 5 minutes before it is used, so that every node has it in time. Batches are made with it for 50
 * minutes, and can be read for 2 hours more. Then it is destroyed: less than 3 hours after it was made.
 */

import { feedKey } from '../batch/feed-key.ts';
import type { HourlyKey } from '../batch/key-message.ts';
import type { StoredKey } from '../ports/key-store.ts';

const MINUTE_MS = 60_000;
const AHEAD_MS = 5 * MINUTE_MS;
export const WRITE_MS = 50 * MINUTE_MS;
export const READ_MS = 120 * MINUTE_MS;
/** A key of a later period than this many from now was made by a clock that is wrong by hours. */
const PERIODS_AHEAD = 3;

/** The number of a period of writing. The same in every process whose clock is right. */
export function periodOf(at: number): number {
  return Math.floor(at / WRITE_MS);
}

/** The periods whose keys are kept at a time: first and last. */
export function keptPeriods(now: number): { readonly first: number; readonly last: number } {
  return { first: periodOf(now - READ_MS), last: periodOf(now) + PERIODS_AHEAD };
}

/** The periods that need a key at a time: the present one, and soon the next. */
export function neededPeriods(now: number): readonly number[] {
  return [...new Set([periodOf(now), periodOf(now + AHEAD_MS)])];
}

export function hourlyKey({ period, secret }: StoredKey): HourlyKey {
  return { key: feedKey(secret), from: period * WRITE_MS, until: (period + 1) * WRITE_MS - 1 };
}

/** From this time on the key must not be held. */
export function endOf({ until }: Pick<HourlyKey, 'until'>): number {
  return until + 1 + READ_MS;
}
