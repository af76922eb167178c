export interface Random {
  /** An integer from 0 to `below` - 1. */
  readonly below: (below: number) => number;
  readonly pick: <T>(from: readonly T[]) => T;
  /** True with this probability. */
  readonly chance: (share: number) => boolean;
}

/**
 * Numbers that follow from the seed and the text alone, so an item does not change with the number of items before it.
 * FNV-1a starts mulberry32.
 */
export function randomFor(seed: number, text: string): Random {
  let state = 0x811c9dc5 ^ seed;
  for (const letter of Buffer.from(text)) state = Math.imul(state ^ letter, 0x01000193);
  const next = (): number => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
  const below = (count: number): number => Math.floor(next() * count);
  return { below, pick: (from) => from[below(from.length)]!, chance: (share) => next() < share };
}
