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
