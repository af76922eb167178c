import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import {
  completedSubtrees,
  consistencySubtrees,
  inclusionSides,
  inclusionSubtrees,
  rootSubtrees,
} from './subtrees.ts';
import {
  completedTiles,
  consistencyProof,
  EMPTY_ROOT,
  inclusionProof,
  leafHash,
  nodeHash,
  type ReadSubtree,
  rootOf,
  sha256,
  subtreesFromStored,
  verifyConsistency,
  verifyInclusion,
} from './tree.ts';

const SIZES = 70;
const known = new Map<number, Uint8Array>();
const leaves = Array.from({ length: SIZES }, (_, at) => leafHash(Buffer.from(`leaf ${at}`)));

/** RFC 6962 section 2.1, word for word, of leaves `from` to `to`. */
function treeHash(from: number, to: number, of = leaves, made = known): Uint8Array {
  if (from === to) return sha256(new Uint8Array(0));
  if (to - from === 1) return of[from]!;
  const key = from * 2 ** 20 + to;
  let hash = made.get(key);
  if (hash === undefined) {
    const middle = from + split(to - from);
    hash = nodeHash(treeHash(from, middle, of, made), treeHash(middle, to, of, made));
    made.set(key, hash);
  }
  return hash;
}

/** Section 2.1.1. */
function auditPath(m: number, from: number, to: number): readonly Uint8Array[] {
  if (to - from === 1) return [];
  const middle = from + split(to - from);
  return m < middle
    ? [...auditPath(m, from, middle), treeHash(middle, to)]
    : [...auditPath(m, middle, to), treeHash(from, middle)];
}

/** Section 2.1.2. The old tree ends at leaf `m`. */
function subProof(m: number, from: number, to: number, complete: boolean): readonly Uint8Array[] {
  if (m === to) return complete ? [] : [treeHash(from, to)];
  const middle = from + split(to - from);
  return m <= middle
    ? [...subProof(m, from, middle, complete), treeHash(middle, to)]
    : [...subProof(m, middle, to, false), treeHash(from, middle)];
}

function split(n: number): number {
  let k = 1;
  while (k * 2 < n) k *= 2;
  return k;
}

const roots = Array.from({ length: SIZES + 1 }, (_, size) => treeHash(0, size));
const read: ReadSubtree = ({ level, index }) => treeHash(index * 2 ** level, (index + 1) * 2 ** level);

test('the hashes of RFC 6962: of nothing, of an empty leaf, of a node', () => {
  const hex = (octets: Uint8Array): string => Buffer.from(octets).toString('hex');
  // Those of the test vectors of Certificate Transparency.
  assert.equal(hex(EMPTY_ROOT), 'e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855');
  assert.equal(
    hex(leafHash(new Uint8Array(0))),
    '6e340b9cffb37a989ca544e6bb780a2c78901d3fb33738768511a30617afa01d',
  );
  const two = [new Uint8Array(0), Uint8Array.of(0)].map(leafHash);
  assert.equal(
    hex(nodeHash(two[0]!, two[1]!)),
    'fac54203e7cc696cf0dfcb42c92a1d9dbaf70ad9e621f4bd8d98662f00e3c125',
  );
});

test('roots, inclusion and consistency proofs of every pair of sizes up to 70 are those of the definition', () => {
  for (let size = 0; size <= SIZES; size++) {
    assert.deepEqual(rootOf(size, read), roots[size]);
    for (let at = 0; at < size; at++) {
      const proof = inclusionProof(at, size, read);
      assert.deepEqual(proof, auditPath(at, 0, size));
      assert.ok(verifyInclusion(leaves[at]!, at, size, proof, roots[size]!));
    }
    for (let old = 0; old <= size; old++) {
      const proof = consistencyProof(old, size, read);
      if (old > 0) assert.deepEqual(proof, subProof(old, 0, size, true));
      else assert.deepEqual(proof, []);
      assert.ok(verifyConsistency(old, roots[old]!, size, roots[size]!, proof), `${old} in ${size}`);
    }
  }
});

/** Everything that one change of a proof makes: each hash damaged, dropped, doubled, and one more at both ends. */
function damaged(proof: readonly Uint8Array[]): readonly (readonly Uint8Array[])[] {
  const other = sha256(Uint8Array.of(1));
  return [
    [other, ...proof],
    [...proof, other],
    ...proof.flatMap((hash, at) => [
      proof.with(
        at,
        Uint8Array.from(hash, (octet, i) => (i === 31 ? octet ^ 1 : octet)),
      ),
      proof.with(at, hash.subarray(0, 31)),
      proof.toSpliced(at, 1),
      proof.toSpliced(at, 0, hash),
    ]),
  ];
}

test('no damaged proof verifies, nor one for another leaf, number, size or root', () => {
  for (const size of [...Array.from({ length: 17 }, (_, at) => at + 1), 31, 32, 33]) {
    const root = roots[size]!;
    for (let at = 0; at < size; at++) {
      const proof = inclusionProof(at, size, read);
      for (const wrong of damaged(proof)) assert.ok(!verifyInclusion(leaves[at]!, at, size, wrong, root));
      for (let other = 0; other <= size; other++) {
        if (other !== at) assert.ok(!verifyInclusion(leaves[at]!, other, size, proof, root));
        if (other !== at && other < size) assert.ok(!verifyInclusion(leaves[other]!, at, size, proof, root));
      }
      assert.ok(!verifyInclusion(leaves[at]!, at, size, proof, roots[size - 1]!));
    }
    for (let old = 1; old <= size; old++) {
      const proof = consistencyProof(old, size, read);
      const oldRoot = roots[old]!;
      for (const wrong of damaged(proof)) assert.ok(!verifyConsistency(old, oldRoot, size, root, wrong));
      for (let other = 0; other <= size; other++) {
        if (other === old) continue;
        assert.ok(!verifyConsistency(other, oldRoot, size, root, proof), `${other} for ${old} in ${size}`);
        assert.ok(!verifyConsistency(old, roots[other]!, size, root, proof));
        if (old < size)
          assert.ok(!verifyConsistency(old, oldRoot, size, roots[other]!, proof) || other === size);
      }
    }
  }
});

test('sizes and numbers that are none give no proof, and nothing throws', () => {
  const root = roots[3]!;
  for (const wrong of [-1, 0.5, Number.NaN, Number.POSITIVE_INFINITY, 2 ** 53]) {
    assert.equal(inclusionSides(wrong, 3), null);
    assert.equal(inclusionSides(0, wrong), null);
    assert.ok(!verifyInclusion(leaves[0]!, wrong, 3, [], root));
    assert.ok(!verifyConsistency(wrong, root, 3, root, []));
    assert.ok(!verifyConsistency(1, root, wrong, root, []));
  }
  assert.equal(inclusionSides(3, 3), null);
  assert.ok(!verifyConsistency(4, roots[4]!, 3, root, []));
  // The empty tree has one root.
  assert.ok(!verifyConsistency(0, root, 3, root, []));
  assert.ok(!verifyConsistency(0, root, 0, root, []));
});

test('the largest sizes have proofs of at most 53 hashes', () => {
  const largest = Number.MAX_SAFE_INTEGER;
  assert.equal(inclusionSides(0, largest)?.length, 53);
  assert.equal(inclusionSubtrees(0, largest).length, 53);
  assert.equal(inclusionSides(largest - 1, largest)?.length, inclusionSubtrees(largest - 1, largest).length);
  assert.equal(rootSubtrees(largest).length, 53);
  assert.ok(consistencySubtrees(2 ** 52 + 1, largest).length <= 54);
});

/** A database that has the hashes of leaves and the roots of full tiles, and refuses to be asked for others. */
function appended(size: number): { readonly stored: ReadSubtree; readonly tiles: number } {
  const rows = new Map<string, Uint8Array>();
  const stored: ReadSubtree = ({ level, index }) => {
    const hash = rows.get(`${level}/${index}`);
    assert.ok(hash, `${level}/${index} is not stored`);
    return hash;
  };
  for (let at = 0; at < size; at++) {
    rows.set(`0/${at}`, sha256(Uint8Array.of(at >> 16, at >> 8, at)));
    for (const { level, index, hash } of completedTiles(at + 1, stored)) rows.set(`${level}/${index}`, hash);
  }
  return { stored, tiles: rows.size - size };
}

test('from hashes of leaves and roots of tiles alone: the same root and proofs, at the edges of tiles', () => {
  const largest = 256 * 256 + 257;
  const { stored, tiles } = appended(largest);
  assert.equal(tiles, 257 + 1);
  const hashes = Array.from({ length: largest }, (_, index) => stored({ level: 0, index }));
  const made = subtreesFromStored(stored);
  const kept = new Map<number, Uint8Array>();
  for (const size of [1, 255, 256, 257, 511, 512, 513, 65_535, 65_536, 65_537, largest]) {
    const root = treeHash(0, size, hashes, kept);
    assert.deepEqual(rootOf(size, made), root, `${size}`);
    for (const index of [0, 254, 255, 256, 257, size - 1].filter((at) => at < size)) {
      const proof = inclusionProof(index, size, made);
      assert.ok(verifyInclusion(hashes[index]!, index, size, proof, root), `${index} of ${size}`);
    }
    const old = Math.ceil(size / 2);
    const proof = consistencyProof(old, size, made);
    const oldRoot = treeHash(0, old, hashes, kept);
    assert.ok(verifyConsistency(old, oldRoot, size, root, proof), `${old} of ${size}`);
  }
});

test('an append completes the subtrees that end with it', () => {
  fc.assert(
    fc.property(fc.integer({ min: 1, max: Number.MAX_SAFE_INTEGER }), (size) => {
      const completed = completedSubtrees(size);
      assert.deepEqual(
        completed.map(({ level }) => level),
        completed.map((_, at) => at),
      );
      for (const { level, index } of completed) assert.equal((index + 1) * 2 ** level, size);
      assert.equal((size / 2 ** completed.length) % 1 === 0, false);
    }),
  );
});
