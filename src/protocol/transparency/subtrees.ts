/**
 * The shape of a Merkle tree (RFC 6962 section 2.1): which subtrees a root and a proof are made of. No hashes, so that browsers read it too.
 * Sizes and numbers are safe integers, and 32-bit operators are avoided.
 */

/** A full subtree: 2^level leaves, of which the first is `index` × 2^level. */
export interface Subtree {
  readonly level: number;
  readonly index: number;
}

/** One hash: full subtrees from left to right, folded from the right, `H(a, H(b, c))`. */
export type SubtreeRun = readonly Subtree[];

/** The full subtrees of a tree, from left to right. None where it is empty. */
export function rootSubtrees(size: number): SubtreeRun {
  return subtreesOf(0, size);
}

/** The hashes of an inclusion proof, from the sibling of the leaf upwards (RFC 6962 section 2.1.1). Needs `index < size`. */
export function inclusionSubtrees(index: number, size: number): readonly SubtreeRun[] {
  const proof: SubtreeRun[] = [];
  let from = 0;
  let to = size;
  while (to - from > 1) {
    const middle = from + splitOf(to - from);
    if (index < middle) {
      proof.push(subtreesOf(middle, to));
      to = middle;
    } else {
      proof.push(subtreesOf(from, middle));
      from = middle;
    }
  }
  return proof.reverse();
}

/** The hashes of a consistency proof (RFC 6962 section 2.1.2). None where a size is zero or both are equal. Needs `old <= size`. */
export function consistencySubtrees(old: number, size: number): readonly SubtreeRun[] {
  if (old === 0 || old === size) return [];
  const proof: SubtreeRun[] = [];
  let from = 0;
  let to = size;
  while (to !== old) {
    const middle = from + splitOf(to - from);
    if (old <= middle) {
      proof.push(subtreesOf(middle, to));
      to = middle;
    } else {
      proof.push(subtreesOf(from, middle));
      from = middle;
    }
  }
  // From the first leaf on it is the old root itself, which the verifier has.
  if (from > 0) proof.push(subtreesOf(from, to));
  return proof.reverse();
}

/** On which side of the path each hash of an inclusion proof is, or null where index and size permit no proof. */
export function inclusionSides(index: number, size: number): readonly ('left' | 'right')[] | null {
  if (!isTreeSize(size) || !isTreeSize(index) || index >= size) return null;
  const sides: ('left' | 'right')[] = [];
  let node = index;
  let last = size - 1;
  while (last > 0) {
    if (node % 2 === 1) sides.push('left');
    // The last node of a level that has no sibling moves up unchanged.
    else if (node < last) sides.push('right');
    node = Math.floor(node / 2);
    last = Math.floor(last / 2);
  }
  return sides;
}

export function isTreeSize(value: number): boolean {
  return Number.isSafeInteger(value) && value >= 0;
}

/** Full subtrees that an append completes: those whose last leaf is the last one of a tree of `size` leaves, from the leaf upwards. */
export function completedSubtrees(size: number): SubtreeRun {
  const completed: Subtree[] = [];
  for (let level = 0, count = size; count >= 1; level += 1, count /= 2) {
    completed.push({ level, index: count - 1 });
    if (count % 2 === 1) break;
  }
  return completed;
}

/** Leaves `from` to `to`, where `from` is a multiple of the largest power of two within. */
function subtreesOf(from: number, to: number): SubtreeRun {
  const run: Subtree[] = [];
  let at = from;
  while (at < to) {
    const level = levelOf(to - at);
    run.push({ level, index: at / 2 ** level });
    at += 2 ** level;
  }
  return run;
}

/** Of the largest full subtree among `count` leaves. */
function levelOf(count: number): number {
  let level = 0;
  while (2 ** (level + 1) <= count) level += 1;
  return level;
}

/** The largest power of two below `count`. */
function splitOf(count: number): number {
  return 2 ** levelOf(count - 1);
}
