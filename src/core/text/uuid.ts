import { randomUUID } from 'node:crypto';
import type { Clock } from '../clock.ts';

/** Ids of one millisecond: the 12 bits after the version count them (RFC 9562 §6.2, method 1). */
const A_MILLISECOND = 4096;

/**
 * Makes UUIDv7s in lower case that ascend (RFC 9562 §5.7): milliseconds, a counter, then 62 random bits. Rows made one after
 * the other lie side by side in an index, where random ids would touch a page each, and list in the order they came.
 */
export function timeOrderedUuids(clock: Clock): () => string {
  let time = 0;
  let count = 0;
  return () => {
    count++;
    const now = clock();
    if (now > time) {
      time = now;
      count = 0;
    } else if (count === A_MILLISECOND) {
      // A clock that stands still, or was set back: time goes on without it.
      time++;
      count = 0;
    }
    const head = time.toString(16).padStart(12, '0');
    const middle = count.toString(16).padStart(3, '0');
    // What follows in a version 4 UUID is variant and random bits, as version 7 wants them.
    return `${head.slice(0, 8)}-${head.slice(8)}-7${middle}${randomUUID().slice(18)}`;
  };
}
