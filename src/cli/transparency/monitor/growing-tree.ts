import { completedSubtrees } from '../../../protocol/transparency/subtrees.ts';
import { leafHash, nodeHash, rootOf } from '../../../protocol/transparency/tree.ts';

/** A tree that leaves are appended to one by one: of all hashes it keeps those of the full subtrees that make its root. */
export class GrowingTree {
  #size = 0;
  /** By level; those that the size has no full subtree of are of an earlier size. */
  readonly #full: Uint8Array[];

  constructor(from?: GrowingTree) {
    this.#size = from?.size ?? 0;
    this.#full = from === undefined ? [] : [...from.#full];
  }

  get size(): number {
    return this.#size;
  }

  append(leaf: Uint8Array): void {
    this.#size += 1;
    let node = leafHash(leaf);
    // Each subtree that the leaf completes has the one of its level before as its left half, but for the last.
    for (const { level, index } of completedSubtrees(this.#size)) {
      if (level > 0) node = nodeHash(this.#full[level - 1]!, node);
      if (index % 2 === 0) this.#full[level] = node;
    }
  }

  root(): Uint8Array {
    return rootOf(this.#size, ({ level }) => this.#full[level]!);
  }
}
