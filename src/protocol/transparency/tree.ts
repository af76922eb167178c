/** Hashes of a Merkle tree (RFC 6962 section 2.1): roots and proofs made from its subtrees, and verified. */
import { hash } from 'node:crypto';
import {
  completedSubtrees,
  consistencySubtrees,
  inclusionSides,
  inclusionSubtrees,
  isTreeSize,
  rootSubtrees,
  type Subtree,
  type SubtreeRun,
} from './subtrees.ts';
import { TILE_LEVELS } from './tiles.ts';

/** The hash of a full subtree. */
export type ReadSubtree = (subtree: Subtree) => Uint8Array;

export interface CompletedTile extends Subtree {
  readonly hash: Uint8Array;
}

export const HASH_OCTETS = 32;

/** The root of the tree without leaves: SHA-256 of nothing. */
export const EMPTY_ROOT: Uint8Array = sha256(new Uint8Array(0));

export function leafHash(leaf: Uint8Array): Uint8Array {
  return sha256(Buffer.concat([Uint8Array.of(0), leaf]));
}

export function nodeHash(left: Uint8Array, right: Uint8Array): Uint8Array {
  // One buffer for all: it is hashed before anything else runs, and a proof of a million entries has hundreds.
  NODE.set(left, 1);
  NODE.set(right, 1 + HASH_OCTETS);
  return sha256(NODE);
}
const NODE = new Uint8Array(1 + 2 * HASH_OCTETS).fill(1, 0, 1);

export function rootOf(size: number, read: ReadSubtree): Uint8Array {
  return size === 0 ? EMPTY_ROOT : hashRun(rootSubtrees(size), read);
}

/** Needs `index < size`. */
export function inclusionProof(index: number, size: number, read: ReadSubtree): readonly Uint8Array[] {
  return inclusionSubtrees(index, size).map((run) => hashRun(run, read));
}

/** Needs `old <= size`. */
export function consistencyProof(old: number, size: number, read: ReadSubtree): readonly Uint8Array[] {
  return consistencySubtrees(old, size).map((run) => hashRun(run, read));
}

export function verifyInclusion(
  leaf: Uint8Array,
  index: number,
  size: number,
  proof: readonly Uint8Array[],
  root: Uint8Array,
): boolean {
  const sides = inclusionSides(index, size);
  if (sides === null || sides.length !== proof.length || !areHashes([leaf, root, ...proof])) return false;
  const made = proof.reduce(
    (node, sibling, at) => (sides[at] === 'left' ? nodeHash(sibling, node) : nodeHash(node, sibling)),
    leaf,
  );
  return sameOctets(made, root);
}

/** RFC 9162 section 2.1.4.2. The empty tree is consistent with every tree, and its proof is empty. */
export function verifyConsistency(
  old: number,
  oldRoot: Uint8Array,
  size: number,
  root: Uint8Array,
  proof: readonly Uint8Array[],
): boolean {
  if (!isTreeSize(old) || !isTreeSize(size) || old > size) return false;
  if (!areHashes([oldRoot, root, ...proof])) return false;
  if (old === 0 && !sameOctets(oldRoot, EMPTY_ROOT)) return false;
  if (old === 0 || old === size) return proof.length === 0 && (old !== size || sameOctets(oldRoot, root));
  let node = old - 1;
  let last = size - 1;
  // The largest full subtree that ends with the old tree.
  while (node % 2 === 1) {
    node = Math.floor(node / 2);
    last = Math.floor(last / 2);
  }
  // The old root is the first hash where it is that subtree.
  const [first, ...rest] = node === 0 ? [oldRoot, ...proof] : proof;
  if (first === undefined) return false;
  let older = first;
  let newer = first;
  for (const sibling of rest) {
    if (last === 0) return false;
    if (node % 2 === 1 || node === last) {
      older = nodeHash(sibling, older);
      newer = nodeHash(sibling, newer);
      while (node % 2 === 0 && node > 0) {
        node = Math.floor(node / 2);
        last = Math.floor(last / 2);
      }
    } else {
      newer = nodeHash(newer, sibling);
    }
    node = Math.floor(node / 2);
    last = Math.floor(last / 2);
  }
  return last === 0 && sameOctets(older, oldRoot) && sameOctets(newer, root);
}

/**
 * Subtrees from hashes that are stored or in tiles: those of leaves, and of subtrees of 256, 256² ... leaves (`storedHashes` names them).
 * Hashes between are made once and kept, so that proofs of one tree share them: one reader for one unit of work.
 */
export function subtreesFromStored(stored: ReadSubtree): ReadSubtree {
  const made = new Map<string, Uint8Array>();
  const read: ReadSubtree = (subtree) => {
    const { level, index } = subtree;
    if (level % TILE_LEVELS === 0) return stored(subtree);
    const key = `${level}/${index}`;
    let node = made.get(key);
    if (node === undefined) {
      node = nodeHash(
        read({ level: level - 1, index: 2 * index }),
        read({ level: level - 1, index: 2 * index + 1 }),
      );
      made.set(key, node);
    }
    return node;
  };
  return read;
}

/**
 * Roots of tiles that the append of a tree's last leaf completes, lowest first: what is stored then beside the leaf's hash. Most
 * appends complete none. Each needs the 256 hashes below it, of which the last may be one that is made here.
 */
export function completedTiles(size: number, stored: ReadSubtree): readonly CompletedTile[] {
  const completed: CompletedTile[] = [];
  const read = subtreesFromStored(
    ({ level, index }) =>
      completed.find((tile) => tile.level === level && tile.index === index)?.hash ??
      stored({ level, index }),
  );
  for (const { level, index } of completedSubtrees(size)) {
    if (level === 0 || level % TILE_LEVELS !== 0) continue;
    const [left, right] = [2 * index, 2 * index + 1].map((half) => read({ level: level - 1, index: half }));
    completed.push({ level, index, hash: nodeHash(left!, right!) });
  }
  return completed;
}

export function sameOctets(one: Uint8Array, other: Uint8Array): boolean {
  return one.length === other.length && one.every((octet, at) => octet === other[at]);
}

export function sha256(octets: Uint8Array): Uint8Array {
  return hash('sha256', octets, 'buffer');
}

function hashRun(run: SubtreeRun, read: ReadSubtree): Uint8Array {
  return run.map(read).reduceRight((right, left) => nodeHash(left, right));
}

function areHashes(hashes: readonly Uint8Array[]): boolean {
  return hashes.every(({ length }) => length === HASH_OCTETS);
}
