import { randomBytes, randomUUID } from 'node:crypto';

/** Cryptographically secure random octets. Code draws only through this port, so that a simulation can give what it drew before. */
export type Random = (octets: number) => Uint8Array;

export const realRandom: Random = (octets) => randomBytes(octets);

/** A version 4 UUID (RFC 9562 §5.4). The engine's own for `realRandom`: it costs a third. */
export function randomUuid(random: Random): string {
  if (random === realRandom) return randomUUID();
  const octets = Buffer.from(random(16));
  octets[6] = 0x40 | (octets[6]! & 0x0f);
  octets[8] = 0x80 | (octets[8]! & 0x3f);
  return octets.toString('hex').replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5');
}

/** A fraction of at least 0 and less than 1, one of 2^48. */
export function randomFraction(random: Random): number {
  return Buffer.from(random(6)).readUIntBE(0, 6) / 2 ** 48;
}

/** A whole number from 0 to `most`, which is far less than 2^48. */
export function randomUpTo(random: Random, most: number): number {
  return Math.floor(randomFraction(random) * (most + 1));
}
