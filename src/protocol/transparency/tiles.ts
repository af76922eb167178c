/** Tiles and entry bundles (C2SP tlog-tiles v0.1.0): their paths and octets. Browsers read it too. */
import { concatOctets } from '../dns/octets.ts';
import { isTreeSize, type Subtree } from './subtrees.ts';

/** A tile holds 2^8 hashes of one level of tiles, a bundle as many entries. */
export const TILE_LEVELS = 8;
export const TILE_WIDTH = 256;

const HASH_OCTETS = 32;
const LEVEL_MAX = 63;
const LENGTH_OCTETS = 2;
export const TILE_LEAF_OCTETS = 65_535;

const PATH = /^tile\/(entries|0|[1-9][0-9]?)\/((?:x[0-9]{3}\/){0,5}[0-9]{3})(?:\.p\/([1-9][0-9]{0,2}))?$/;

export interface Tile {
  /** Of tiles: level 1 has roots of full tiles of level 0. */
  readonly level: number | 'entries';
  readonly n: number;
  /** 1 to 256 hashes or entries. Below 256 the tile is partial. */
  readonly width: number;
}

/** `tile/0/x003/906.p/64`, below the prefix of the log. */
export function tilePath({ level, n, width }: Tile): string {
  const digits = String(n);
  const groups = digits.padStart(Math.ceil(digits.length / 3) * 3, '0').match(/.../g) ?? [];
  const number = groups.map((group, at) => (at < groups.length - 1 ? `x${group}` : group)).join('/');
  return `tile/${level}/${number}${width < TILE_WIDTH ? `.p/${width}` : ''}`;
}

/** Null for a path that `tilePath` does not write. */
export function parseTilePath(path: string): Tile | null {
  const [, level = '', number = '', width = String(TILE_WIDTH)] = PATH.exec(path) ?? [];
  if (level === '') return null;
  const tile: Tile = {
    level: level === 'entries' ? level : Number(level),
    n: Number(number.replaceAll(/[x/]/g, '')),
    width: Number(width),
  };
  if (tile.level !== 'entries' && tile.level > LEVEL_MAX) return null;
  return isTreeSize(tile.n) && tilePath(tile) === path ? tile : null;
}

/** Hashes of the tile in a tree of `size` leaves: 256, less in the last one of a level, 0 where it is not there. */
export function tileWidth(level: Tile['level'], n: number, size: number): number {
  const hashes = level === 'entries' ? size : Math.floor(size / TILE_WIDTH ** level);
  return Math.max(0, Math.min(TILE_WIDTH, hashes - n * TILE_WIDTH));
}

/** Of one tile: hashes of its level that a subtree covers. `level` is that of the tile. */
export function storedHashes({ level, index }: Subtree): {
  readonly level: number;
  readonly first: number;
  readonly count: number;
} {
  const count = 2 ** (level % TILE_LEVELS);
  return { level: Math.floor(level / TILE_LEVELS), first: index * count, count };
}

/** The tiles that hold these subtrees in a tree of `size` leaves, each once. */
export function tilesOf(subtrees: readonly Subtree[], size: number): readonly Tile[] {
  const tiles = new Map<string, Tile>();
  for (const subtree of subtrees) {
    const { level, first } = storedHashes(subtree);
    const n = Math.floor(first / TILE_WIDTH);
    const tile = { level, n, width: tileWidth(level, n, size) };
    tiles.set(tilePath(tile), tile);
  }
  return [...tiles.values()];
}

/** The bundle of these leaves. Each has at most `TILE_LEAF_OCTETS`. */
export function encodeEntries(leaves: readonly Uint8Array[]): Uint8Array {
  return concatOctets(
    leaves.flatMap((leaf) => [Uint8Array.of(Math.floor(leaf.length / 256), leaf.length % 256), leaf]),
  );
}

/** Null where the octets are not those of exactly `width` leaves. */
export function decodeEntries(octets: Uint8Array, width: number): readonly Uint8Array[] | null {
  const leaves: Uint8Array[] = [];
  let at = 0;
  while (at < octets.length && leaves.length < width) {
    const [high, low] = [octets[at], octets[at + 1]];
    if (high === undefined || low === undefined) return null;
    const from = at + LENGTH_OCTETS;
    at = from + high * 256 + low;
    leaves.push(octets.subarray(from, at));
  }
  return at === octets.length && leaves.length === width ? leaves : null;
}

/** Null where the octets are not those of exactly `width` hashes. */
export function decodeTile(octets: Uint8Array, width: number): readonly Uint8Array[] | null {
  if (octets.length !== width * HASH_OCTETS) return null;
  return Array.from({ length: width }, (_, at) => octets.subarray(at * HASH_OCTETS, (at + 1) * HASH_OCTETS));
}
