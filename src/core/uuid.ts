import { randomUUID } from 'node:crypto';

/**
 * A UUIDv7 in lower case (RFC 9562 §5.7): milliseconds first, then 74 random bits. Rows made one after the other lie side by
 * side in an index, where random ids would touch a page each.
 *
 * @param now milliseconds since the epoch
 */
export function timeOrderedUuid(now: number): string {
  const time = now.toString(16).padStart(12, '0');
  // The rest of a version 4 UUID is variant and random bits, as version 7 wants them.
  return `${time.slice(0, 8)}-${time.slice(8)}-7${randomUUID().slice(15)}`;
}
