import { type Random, randomFraction, randomUuid, realRandom } from './chance.ts';
import type { Clock } from './time.ts';

/** Ids in one millisecond: 12 bits count them (RFC 9562 §6.2, method 1). */
const A_MILLISECOND = 4096;

/** UUIDv7 (RFC 9562 §5.7): milliseconds, a counter, 62 random bits. Ascending ids share index pages (ADR 10). */
export function timeOrderedUuids(clock: Clock, random: Random = realRandom): () => string {
  const idAt = uuidsOfTimes(random);
  return () => idAt(clock());
}

/** As `timeOrderedUuids`, of the time that each call gives. */
export function uuidsOfTimes(random: Random = realRandom): (at: number) => string {
  let time = 0;
  let count = 0;
  let head = textOf(time);
  return (now) => {
    count++;
    if (now > time) {
      time = now;
      count = 0;
      head = textOf(time);
    } else if (count === A_MILLISECOND) {
      // The clock stands still or was set back: ids must still ascend.
      time++;
      count = 0;
      head = textOf(time);
    }
    // A version 4 UUID has its variant and random bits at the same position.
    return `${head}-7${count.toString(16).padStart(3, '0')}${randomUuid(random).slice(18)}`;
  };
}

function textOf(time: number): string {
  const digits = time.toString(16).padStart(12, '0');
  return `${digits.slice(0, 8)}-${digits.slice(8)}`;
}

// The epoch of a log: the id of its database. After a restored backup the same database gets a successor, the id with a time behind it: its
// log goes on from an earlier state, and every view is built again from it.

const EPOCH = /^(?<id>[^.]+)(?:\.(?<at>\d{1,15}))?$/;

/** Milliseconds, 17 minutes. */
const AFTER_FAST_CLOCK = 2 ** 20;

/**
 * Two copies of a database, restored one after the other, must not get the same one: behind a fast clock, where the time does not tell them
 * apart, chance does.
 * @param now milliseconds since the epoch. @returns a successor, also of one that a fast clock made
 */
export function nextEpoch(epoch: string, now: number, random: Random = realRandom): string {
  const { id, at } = parts(epoch);
  return `${id}.${now > at ? now : at + 1 + Math.floor(randomFraction(random) * AFTER_FAST_CLOCK)}`;
}

/** Whether `epoch` is a successor of `earlier`. Never true for another database. */
export function isSuccessor(epoch: string, earlier: string): boolean {
  const [next, last] = [parts(epoch), parts(earlier)];
  return next.id === last.id && next.at > last.at;
}

/** The id of the database, which its successors share. */
export function databaseOf(epoch: string): string {
  return parts(epoch).id;
}

/** When the epoch began, milliseconds since 1970-01-01 UTC; 0: with its database. */
export function epochTime(epoch: string): number {
  return parts(epoch).at;
}

function parts(epoch: string): { readonly id: string; readonly at: number } {
  const { id = epoch, at = '0' } = EPOCH.exec(epoch)?.groups ?? {};
  return { id, at: Number(at) };
}
