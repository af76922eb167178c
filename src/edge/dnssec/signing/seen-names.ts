import { FNV_START, fnvEnd, fnvStep } from '../../../core/fnv.ts';

const SLOTS = 32_768;

/**
 * Tells whether a name was asked about before, by a hash of it in fixed memory. It may be wrong in both directions, rarely: it
 * decides what is worth keeping, never what is true.
 */
export class SeenNames {
  private readonly hashes = new Uint32Array(SLOTS);

  /** Whether `name` was the last one in its slot, which it is from now on. Letters count without their case. */
  again(name: Uint8Array): boolean {
    let hash = FNV_START;
    // Setting the case bit of every octet confuses some others: a hash may do that.
    for (let i = 0; i < name.length; i++) hash = fnvStep(hash, name[i]! | 0x20);
    hash = fnvEnd(hash);
    const slot = hash & (SLOTS - 1);
    const isSeen = this.hashes[slot] === hash;
    this.hashes[slot] = hash;
    return isSeen;
  }
}
