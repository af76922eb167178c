/** A monitor of the transparency log: it reads what is published as anybody does, keeps all of it, and remembers every head that somebody was shown. */
import { InputError } from '../../../src/base/errors.ts';
import type { LogSource } from '../../../src/control/transparency/recover.ts';
import type { TrustPolicy } from '../../../src/protocol/transparency/policy.ts';
import { parseLogProof } from '../../../src/protocol/transparency/proof.ts';
import { checkLogProof, checkNote } from '../../../src/protocol/transparency/signatures.ts';
import { decodeEntries, type Tile, tilePath, tileWidth } from '../../../src/protocol/transparency/tiles.ts';
import { sameOctets } from '../../../src/protocol/transparency/tree.ts';
import { SmallLog } from '../../support/protocol/transparency/small-log.ts';
import type { RestAnswer } from '../common.ts';
import { InvariantError } from '../invariants.ts';

/** Reads a path of REST. Null: no answer came. */
export type Get = (path: string) => Promise<RestAnswer | null>;

export interface LogMonitor {
  /** One round over a control process. @throws InvariantError */
  round(get: Get): Promise<void>;
  /** Somebody was shown this note as the published head. @returns its entries. @throws InvariantError */
  shown(note: string): number;
  /** Somebody was shown this proof of an entry. @param leaves what the entry may be. @throws InvariantError */
  proved(proof: string, leaves: readonly Uint8Array[]): void;
  /** Entries that it has. */
  readonly size: number;
  /** Its folder, of which a registry takes back what it lost. */
  readonly source: LogSource;
}

/** @param policy with the key of the log */
export function createMonitor(policy: TrustPolicy): LogMonitor {
  const log = new SmallLog();
  /** Heads that were shown, by their sizes: one history has one of each. */
  const heads = new Map<number, Uint8Array>();
  const sizes = new Map<string, number>();
  /** With what each proves. */
  const proofs = new Map<string, Uint8Array>();
  let newest = '';

  function judge(note: string): number {
    const judged = checkNote(note, policy);
    if (!judged.valid) throw new InvariantError(`the head of the log is not trusted: ${judged.reason}`);
    const { size, root } = judged.checkpoint;
    const before = heads.get(size) ?? (size <= log.leaves.length ? log.root(size) : root);
    if (!sameOctets(before, root))
      throw new InvariantError(`two readers were shown two histories of ${size} entries`);
    heads.set(size, root);
    return size;
  }

  function shown(note: string): number {
    const known = sizes.get(note);
    if (known !== undefined) return known;
    const size = judge(note);
    sizes.set(note, size);
    return size;
  }

  function take(note: string, leaves: readonly Uint8Array[]): void {
    const changed = log.leaves.findIndex((leaf, at) => !sameOctets(leaf, leaves[at]!));
    if (changed >= 0) throw new InvariantError(`entry ${changed} of the log was changed`);
    log.leaves.push(...leaves.slice(log.leaves.length));
    for (const [size, root] of heads)
      if (size <= log.leaves.length && !sameOctets(log.root(size), root))
        throw new InvariantError(`the entries of the log are not those of its head of ${size}`);
    newest = note;
  }

  return {
    get size() {
      return log.leaves.length;
    },
    async round(get) {
      const found = await get('/log/checkpoint');
      if (found?.status !== 200) return;
      const note = String(found.body);
      const size = shown(note);
      if (size <= log.leaves.length) return;
      const leaves: Uint8Array[] = [];
      for (const tile of tilesOfLevel('entries', size)) {
        const bundle = await get(`/log/${tilePath(tile)}`);
        // A backup may have been put back meanwhile.
        if (bundle?.status !== 200) return;
        const some = decodeEntries(bundle.body as Uint8Array, tile.width);
        if (some === null) throw new InvariantError('a bundle of entries cannot be read');
        leaves.push(...some);
      }
      if (size > log.leaves.length) take(note, leaves);
      for (let level = 0; tileWidth(level, 0, size) > 0; level++) {
        for (const path of tilesOfLevel(level, size).map(tilePath)) {
          const hashes = await get(`/log/${path}`);
          if (hashes?.status !== 200) return;
          if (!sameOctets(hashes.body as Uint8Array, log.tile(path)!))
            throw new InvariantError(`${path} has not the hashes of its entries`);
        }
      }
    },
    shown,
    proved(proof, leaves) {
      const known = proofs.get(proof);
      if (known !== undefined && leaves.some((leaf) => sameOctets(leaf, known))) return;
      shown(parseLogProof(proof)?.checkpoint ?? '');
      const proved = leaves.find((leaf) => checkLogProof(leaf, proof, policy).valid);
      if (proved === undefined) throw new InvariantError('a proof proves nothing');
      proofs.set(proof, proved);
    },
    source: {
      async read(path) {
        if (path === 'checkpoint' && newest !== '') return Buffer.from(newest);
        const octets = log.tile(path);
        if (octets === null) throw new InputError(`${path} is not there`);
        return octets;
      },
    },
  };
}

/** Those that a log of so many entries has. */
function tilesOfLevel(level: Tile['level'], size: number): readonly Tile[] {
  const tiles: Tile[] = [];
  for (let n = 0; tileWidth(level, n, size) > 0; n++)
    tiles.push({ level, n, width: tileWidth(level, n, size) });
  return tiles;
}
