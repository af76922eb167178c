import { createHash } from 'node:crypto';
import { mulberry } from '../support/feed/bus/feed-world.ts';

/** Numbers that the seed alone decides. */
export interface Random {
  /** From 0 up to 1. */
  next(): number;
  /** Whole, from `low` to `high`, both included. */
  between(low: number, high: number): number;
  chance(probability: number): boolean;
  pick<T>(values: readonly T[]): T;
  octets(count: number): Uint8Array;
  /** Goes on with the numbers of one step, whatever was drawn before: a step that is left out changes no other. */
  enter(step: number): void;
}

/** @param stream so that one part of the simulation takes no numbers from another */
export function createRandom(seed: number, stream: number): Random {
  const start = Math.imul(seed, 0x9e3779b1) ^ Math.imul(stream, 0x85ebca6b);
  let next = mulberry(start);
  // All streams of `mulberry` are parts of one circle of 2^32 numbers: two that meet there would make the same nonce twice.
  const own = createHash('sha256').update(`${seed} ${stream}`).digest();
  let drawn = 0;
  return {
    next: () => next(),
    between: (low, high) => low + Math.floor(next() * (high - low + 1)),
    chance: (probability) => next() < probability,
    pick: (values) => values[Math.floor(next() * values.length)]!,
    octets(count) {
      const octets = new Uint8Array(count);
      for (let i = 0; i < count; i++) octets[i] = Math.floor(next() * 256) ^ own[drawn++ % own.length]!;
      return octets;
    },
    enter(step) {
      next = mulberry(start ^ Math.imul(step + 1, 0xc2b2ae35));
    },
  };
}

/** One of these, each as often as its weight says. */
export function pickWeighted<T extends { readonly weight: number }>(values: readonly T[], random: Random): T {
  let left = random.next() * values.reduce((sum, { weight }) => sum + weight, 0);
  for (const value of values) {
    left -= value.weight;
    if (left < 0) return value;
  }
  return values[0]!;
}
