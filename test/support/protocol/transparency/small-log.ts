import { createHash, createPrivateKey, type KeyObject } from 'node:crypto';
import { treeHeadText } from '../../../../src/protocol/transparency/checkpoint.ts';
import {
  COSIGNER_KEY,
  LOG_KEY,
  printNote,
  printVerifierKey,
} from '../../../../src/protocol/transparency/note.ts';
import { cosignNote, signNote, verifierKeyOf } from '../../../../src/protocol/transparency/signatures.ts';
import {
  encodeEntries,
  parseTilePath,
  TILE_LEVELS,
  TILE_WIDTH,
  tileWidth,
} from '../../../../src/protocol/transparency/tiles.ts';
import {
  consistencyProof,
  leafHash,
  nodeHash,
  type ReadSubtree,
  rootOf,
  subtreesFromStored,
} from '../../../../src/protocol/transparency/tree.ts';

const PKCS8 = Buffer.from('302e020100300506032b657004220420', 'hex');

/** The Ed25519 key whose seed is the SHA-256 of a text. */
export function keyOf(text: string): KeyObject {
  return keyOfSeed(createHash('sha256').update(text).digest());
}

export function keyOfSeed(seed: Uint8Array): KeyObject {
  return createPrivateKey({ key: Buffer.concat([PKCS8, seed]), format: 'der', type: 'pkcs8' });
}

export const cosignerKey = (name: string): string =>
  printVerifierKey(verifierKeyOf(name, COSIGNER_KEY, keyOf(name)));

/** A transparency log in memory, which signs whatever it is told to: with `leaves` replaced it is a lying operator. */
export class SmallLog {
  readonly origin: string;
  readonly key: KeyObject;
  readonly leaves: Uint8Array[];

  constructor(leaves: readonly (string | Uint8Array)[] = [], origin = 'log.example.net/log') {
    this.origin = origin;
    this.key = keyOf(origin);
    this.leaves = leaves.map((leaf) => Buffer.from(leaf));
  }

  get vkey(): string {
    return printVerifierKey(verifierKeyOf(this.origin, LOG_KEY, this.key));
  }

  append(...leaves: readonly string[]): void {
    this.leaves.push(...leaves.map((leaf) => Buffer.from(leaf)));
  }

  root(size = this.leaves.length): Uint8Array {
    return rootOf(size, this.#read());
  }

  /** A signed checkpoint, cosigned by the witnesses with these names. @param time unix second */
  note(size = this.leaves.length, witnesses: readonly string[] = [], time = 1_795_651_202): string {
    const text = treeHeadText({ origin: this.origin, size, root: this.root(size) });
    const cosignatures = witnesses.map((name) => cosignNote(text, name, keyOf(name), time));
    return printNote({ text, signatures: [signNote(text, this.origin, this.key), ...cosignatures] });
  }

  /** The body of `add-checkpoint`. */
  request(old: number, size = this.leaves.length, note = this.note(size)): string {
    const proof = old > size ? [] : consistencyProof(old, size, this.#read());
    const hashes = proof.map((hash) => `${Buffer.from(hash).toString('base64')}\n`);
    return `old ${old}\n${hashes.join('')}\n${note}`;
  }

  /** A tile or an entry bundle below the prefix of the log; null for what is not there. */
  tile(path: string): Uint8Array | null {
    const tile = parseTilePath(path);
    const width = tile === null ? 0 : tileWidth(tile.level, tile.n, this.leaves.length);
    if (tile === null || tile.width > width) return null;
    const first = tile.n * TILE_WIDTH;
    const { level } = tile;
    if (level === 'entries') return encodeEntries(this.leaves.slice(first, first + tile.width));
    const read = this.#read();
    const hashes = Array.from({ length: tile.width }, (_, at) =>
      read({ level: level * TILE_LEVELS, index: first + at }),
    );
    return Buffer.concat(hashes);
  }

  #read(): ReadSubtree {
    const hashes = this.leaves.map(hashOf);
    const stored: ReadSubtree = ({ level, index }) => {
      if (level === 0) return hashes[index]!;
      return rootOfFull(hashes.slice(index * 2 ** level, (index + 1) * 2 ** level));
    };
    return subtreesFromStored(stored);
  }
}

const known = new WeakMap<Uint8Array, Uint8Array>();

function hashOf(leaf: Uint8Array): Uint8Array {
  const hash = known.get(leaf) ?? leafHash(leaf);
  known.set(leaf, hash);
  return hash;
}

function rootOfFull(hashes: readonly Uint8Array[]): Uint8Array {
  return rootOf(hashes.length, ({ level, index }) => {
    if (level === 0) return hashes[index]!;
    const half = 2 ** (level - 1);
    const first = index * 2 ** level;
    return nodeHash(
      rootOfFull(hashes.slice(first, first + half)),
      rootOfFull(hashes.slice(first + half, first + 2 * half)),
    );
  });
}
