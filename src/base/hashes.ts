/** 32-bit FNV-1a, for tables in memory. It does not resist an attacker who makes names collide. */

export const FNV_START = 0x811c9dc5;
export const FNV_PRIME = 0x01000193;

/** Adds one octet or UTF-16 code unit. Start with `FNV_START`. */
export function fnvStep(hash: number, octet: number): number {
  return Math.imul(hash ^ octet, FNV_PRIME);
}

/** Folds the high bits into the low ones, which tables use. Returns 0 to 2^32 - 1. */
export function fnvEnd(hash: number): number {
  return (hash ^ (hash >>> 15)) >>> 0;
}

/**
 * Associativity: 32 octets, half a cache line. With one place a bucket, 14 % of 10,000 names replace each other and are never
 * seen; with four 0.3 %, with eight none.
 */
const WAYS = 8;
const PLACES = 65_536;

/**
 * Whether a hash came before, in fixed memory. A hash is forgotten when eight newer ones came to its bucket. Two names with
 * one hash count as one: use it only to decide what to cache.
 */
export class SeenHashes {
  private readonly hashes: Uint32Array;
  private readonly mask: number;

  /** @param places a power of two, at least 8 */
  constructor(places = PLACES) {
    this.hashes = new Uint32Array(places);
    this.mask = places / WAYS - 1;
  }

  /** Whether `hash` was given before, and notes it. */
  again(hash: number): boolean {
    const { hashes } = this;
    const first = (hash & this.mask) * WAYS;
    for (let way = 0; way < WAYS; way++) if (hashes[first + way] === hash) return true;
    // First in, first out.
    for (let at = first + WAYS - 1; at > first; at--) hashes[at] = hashes[at - 1]!;
    hashes[first] = hash;
    return false;
  }
}
