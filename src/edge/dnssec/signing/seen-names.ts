import { FNV_START, fnvEnd, fnvStep } from '../../../core/fnv.ts';

const SLOTS = 32_768;

/**
 * Whether a name was asked before, by hash in fixed memory. Both answers may rarely be wrong: it decides only what to
 * cache.
 */
export class SeenNames {
  private readonly hashes = new Uint32Array(SLOTS);

  /** Whether `name` was the last one in its slot; it is from now on. Case is ignored. */
  again(name: Uint8Array): boolean {
    let hash = FNV_START;
    // Setting the case bit of every octet makes some names collide, which a hash may do.
    for (let i = 0; i < name.length; i++) hash = fnvStep(hash, name[i]! | 0x20);
    hash = fnvEnd(hash);
    const slot = hash & (SLOTS - 1);
    const isSeen = this.hashes[slot] === hash;
    this.hashes[slot] = hash;
    return isSeen;
  }
}
