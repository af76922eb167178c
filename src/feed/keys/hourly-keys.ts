/**
 * The hourly keys: what a node gets of them, and how long each lives. In a message a key has 48 octets: secret, first and last
 * millisecond of writing.
 */
import { field, fieldReader } from '../message/fields.ts';
import { FEED_KEY_OCTETS, type FeedKey, type FeedKeyRing, feedKey, feedKeyRing } from '../message/keys.ts';
import type { StoredKey } from '../ports/feed-store.ts';
import { FeedRefusedError } from '../ports/refusal.ts';

/** Those of three hours, the next one, and those that another process made whose clock is fast. */
const KEYS_MAX = 8;

/** A key, and the time in which batches are made with it, milliseconds since the epoch. */
export interface HourlyKey {
  readonly key: FeedKey;
  readonly from: number;
  readonly until: number;
}

export function printHourlyKeys(keys: readonly HourlyKey[]): Uint8Array {
  if (keys.length > KEYS_MAX) throw new RangeError(`at most ${KEYS_MAX} keys are sent at once`);
  return Buffer.concat(
    keys.map(({ key, from, until }) => Buffer.concat([key.secret, field.u64(from), field.u64(until)])),
  );
}

/** @throws FeedRefusedError and nothing else, whatever the octets are */
export function parseHourlyKeys(plain: Uint8Array): HourlyKey[] {
  const reader = fieldReader(plain);
  const keys: HourlyKey[] = [];
  while (reader.left() > 0) {
    const secret = Uint8Array.from(reader.bytes(FEED_KEY_OCTETS));
    const [from, until] = [reader.u64(), reader.u64()];
    if (until < from || keys.length === KEYS_MAX) throw new FeedRefusedError('format');
    keys.push({ key: feedKey(secret), from, until });
  }
  return keys;
}

/**
 * The life of an hourly key. It exists 5 minutes before it is used, so that every node has it in time. Batches are made with it for 50
 * minutes, and can be read for 2 hours more. Then it is destroyed: less than 3 hours after it was made.
 */

const MINUTE_MS = 60_000;
const AHEAD_MS = 5 * MINUTE_MS;
export const WRITE_MS = 50 * MINUTE_MS;
export const READ_MS = 120 * MINUTE_MS;
/** A key of a later period than this many from now was made by a clock that is wrong by hours. */
const PERIODS_AHEAD = 3;

/** The number of a period of writing. The same in every process whose clock is right. */
export function keyPeriodOf(at: number): number {
  return Math.floor(at / WRITE_MS);
}

/** The periods whose keys are kept at a time: first and last. */
export function keptPeriods(now: number): { readonly first: number; readonly last: number } {
  return { first: keyPeriodOf(now - READ_MS), last: keyPeriodOf(now) + PERIODS_AHEAD };
}

/** The periods that need a key at a time: the present one, and soon the next. */
export function neededPeriods(now: number): readonly number[] {
  return [...new Set([keyPeriodOf(now), keyPeriodOf(now + AHEAD_MS)])];
}

function hourlyKey({ period, secret }: StoredKey): HourlyKey {
  return { key: feedKey(secret), from: period * WRITE_MS, until: (period + 1) * WRITE_MS - 1 };
}

/** From this time on the key must not be held. */
export function endOf({ until }: Pick<HourlyKey, 'until'>): number {
  return until + 1 + READ_MS;
}

/** The hourly keys that a process of the control side has read from the store. */

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
    present: (now) => held.find(({ period }) => period === keyPeriodOf(now))?.hourly.key ?? null,
    ring: (now) => feedKeyRing(readable(now).map(({ key }) => key)),
    isSame: (others) =>
      others.length === rows.length &&
      rows.every(({ period, secret }, i) => {
        const other = others[i];
        return other?.period === period && Buffer.compare(other.secret, secret) === 0;
      }),
  };
}
