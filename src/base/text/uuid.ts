import { randomUUID } from 'node:crypto';
import type { Clock } from '../clock.ts';

/** Ids in one millisecond: 12 bits count them (RFC 9562 §6.2, method 1). */
const A_MILLISECOND = 4096;

/** UUIDv7 (RFC 9562 §5.7): milliseconds, a counter, 62 random bits. Ascending ids share index pages (ADR 10). */
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
      // The clock stands still or was set back: ids must still ascend.
      time++;
      count = 0;
    }
    const head = time.toString(16).padStart(12, '0');
    const middle = count.toString(16).padStart(3, '0');
    // A version 4 UUID has its variant and random bits at the same position.
    return `${head.slice(0, 8)}-${head.slice(8)}-7${middle}${randomUUID().slice(18)}`;
  };
}
