/** Roots and proofs of the tree, from the hashes that the tables have: a few queries, whatever its size. */

import { nextTurn } from '../../base/lifecycle/timers.ts';
import {
  consistencySubtrees,
  inclusionSubtrees,
  rootSubtrees,
  type Subtree,
} from '../../protocol/transparency/subtrees.ts';
import { TILE_LEVELS, TILE_WIDTH, tilesOf } from '../../protocol/transparency/tiles.ts';
import {
  consistencyProof,
  inclusionProof,
  leafHash,
  nodeHash,
  type ReadSubtree,
  rootOf,
  sameOctets,
  subtreesFromStored,
} from '../../protocol/transparency/tree.ts';
import type { Db } from '../../store/store.ts';
import { readLogEntries, readTileHashes } from '../../store/transparency.ts';

/** The tables do not hold the log that was signed. Nothing more is signed. */
export class LogDamaged extends Error {
  constructor(what: string) {
    super(`the transparency log is damaged: ${what}`);
    this.name = 'LogDamaged';
  }
}

export async function rootAt(db: Db, size: number): Promise<Uint8Array> {
  return rootOf(size, await reader(db, size, rootSubtrees(size)));
}

export async function consistencyAt(db: Db, old: number, size: number): Promise<readonly Uint8Array[]> {
  return consistencyProof(old, size, await reader(db, size, consistencySubtrees(old, size).flat()));
}

/** Proofs of several entries in one tree, which share what they have in common. */
export async function inclusionsAt(
  db: Db,
  indexes: readonly number[],
  size: number,
): Promise<readonly (readonly Uint8Array[])[]> {
  const read = await reader(
    db,
    size,
    indexes.flatMap((index) => inclusionSubtrees(index, size).flat()),
  );
  return indexes.map((index) => inclusionProof(index, size, read));
}

async function reader(db: Db, size: number, subtrees: readonly Subtree[]): Promise<ReadSubtree> {
  const tiles = new Map<string, readonly Uint8Array[]>();
  for (const { level, n, width } of tilesOf(subtrees, size)) {
    const first = n * TILE_WIDTH;
    tiles.set(`${level}/${n}`, await readTileHashes(db, Number(level), first, first + width));
  }
  return subtreesFromStored(({ level, index }) => {
    const hash = tiles.get(`${level / TILE_LEVELS}/${Math.floor(index / TILE_WIDTH)}`)?.[index % TILE_WIDTH];
    if (hash === undefined) throw new LogDamaged('a hash is missing');
    return hash;
  });
}

/**
 * Reads every entry of a log of this size: its hash must be that of its leaf, and the roots of tiles those of the hashes below them.
 * @throws LogDamaged
 */
export async function checkEntries(db: Db, size: number): Promise<void> {
  const above: Uint8Array[] = [];
  for (let from = 0; from < size; from += TILE_WIDTH) {
    const entries = await readLogEntries(db, from, Math.min(size, from + TILE_WIDTH));
    entries.forEach(({ idx, leaf, hash }, at) => {
      if (idx !== from + at) throw new LogDamaged(`entry ${from + at} is missing`);
      if (!sameOctets(leafHash(leaf), hash)) throw new LogDamaged(`entry ${idx} was changed`);
    });
    if (entries.length === TILE_WIDTH) above.push(rootOfTile(entries.map(({ hash }) => hash)));
    else if (from + entries.length < size) throw new LogDamaged(`entry ${from + entries.length} is missing`);
    await nextTurn();
  }
  await checkTiles(db, above);
}

async function checkTiles(db: Db, roots: readonly Uint8Array[]): Promise<void> {
  for (let level = 1, made = roots; made.length > 0; level++) {
    const stored = await readTileHashes(db, level, 0, made.length);
    made.forEach((root, n) => {
      if (stored[n] === undefined || !sameOctets(root, stored[n]))
        throw new LogDamaged(`tile ${level - 1}/${n} is not that of its entries`);
    });
    made = Array.from({ length: Math.floor(made.length / TILE_WIDTH) }, (_, n) =>
      rootOfTile(made.slice(n * TILE_WIDTH, (n + 1) * TILE_WIDTH)),
    );
  }
}

function rootOfTile(hashes: readonly Uint8Array[]): Uint8Array {
  const read = subtreesFromStored(({ index }) => hashes[index]!);
  const half = TILE_WIDTH / 2;
  const halves = [0, 1].map((index) => read({ level: Math.log2(half), index }));
  return nodeHash(halves[0]!, halves[1]!);
}
