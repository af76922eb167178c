import type { Bytes } from './key-space.ts';
import type { Tree } from './tree.ts';

/**
 * Searches for the first key at or after another. All searches of a tree share one range of lmdb-js, which reads its options when it
 * is iterated. A range for each would take twice as long, and its objects outlive many collections of young ones: under a flood of
 * denials full collections took 15 % of the CPU.
 */
export function firstKeySearch(): (tree: Tree, start: Bytes) => Uint8Array | null {
  const options: { start: Bytes; limit: number } = { start: new Uint8Array(), limit: 1 };
  let searched: Tree | null = null;
  let keys: Iterable<Uint8Array> = [];
  return (tree, start) => {
    if (tree !== searched) {
      searched = tree;
      keys = tree.getKeys(options);
    }
    options.start = start;
    for (const key of keys) return key;
    return null;
  };
}
