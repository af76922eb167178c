/** FNV-1a with 32 bits: a fast hash for tables in memory. An attacker can make names that collide. */

export const FNV_START = 0x811c9dc5;
export const FNV_PRIME = 0x01000193;

/** The hash after one more octet or UTF-16 code unit. Start with `FNV_START`. */
export function fnvStep(hash: number, octet: number): number {
  return Math.imul(hash ^ octet, FNV_PRIME);
}

/** The finished hash, 0 to 2^32 - 1. FNV mixes upwards only, and tables use the low bits: the high ones are folded in. */
export function fnvEnd(hash: number): number {
  return (hash ^ (hash >>> 15)) >>> 0;
}
