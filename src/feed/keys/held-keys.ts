/** The hourly keys that a process of the control side has read from the store. */
import { type FeedKey, type FeedKeyRing, feedKeyRing } from '../batch/feed-key.ts';
import type { HourlyKey } from '../batch/key-message.ts';
import { KEYS_MAX } from '../batch/key-message.ts';
import type { StoredKey } from '../ports/key-store.ts';
import { endOf, hourlyKey, periodOf } from './periods.ts';

export interface HeldKeys {
  /** Those that are not over, ascending. */
  readable(now: number): readonly HourlyKey[];
  /** Null: the store was not read since the period began. */
  present(now: number): FeedKey | null;
  ring(now: number): FeedKeyRing;
  isSame(rows: readonly StoredKey[]): boolean;
}

export function holdKeys(rows: readonly StoredKey[]): HeldKeys {
  // More than a message holds are there only while clocks of processes differ by hours. The latest ones are needed most.
  const held = rows.slice(-KEYS_MAX).map((row) => ({ ...row, hourly: hourlyKey(row) }));
  const readable = (now: number): HourlyKey[] =>
    held.map(({ hourly }) => hourly).filter((hourly) => now < endOf(hourly));
  return {
    readable,
    present: (now) => held.find(({ period }) => period === periodOf(now))?.hourly.key ?? null,
    ring: (now) => feedKeyRing(readable(now).map(({ key }) => key)),
    isSame: (others) =>
      others.length === rows.length &&
      rows.every(({ period, secret }, i) => {
        const other = others[i];
        return other?.period === period && Buffer.compare(other.secret, secret) === 0;
      }),
  };
}
