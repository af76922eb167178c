import { randomInt } from 'node:crypto';

/**
 * A whole number of `min` to `max`, each with the same chance: crypto.randomInt repeats a draw that would be biased. The two
 * lie less than 2^48 apart, or it throws.
 */
export function draw(min: number, max: number): number {
  return randomInt(min, max + 1);
}
