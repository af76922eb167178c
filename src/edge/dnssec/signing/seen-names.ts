import { FNV_START, fnvEnd, fnvStep } from '../../../core/fnv.ts';
import { SeenHashes } from '../../../core/seen-hashes.ts';

/** Whether a name was asked before, by hash in fixed memory. Both answers may rarely be wrong: it decides only what to cache. */
export class SeenNames {
  private readonly hashes = new SeenHashes();

  /** Whether `name` was given before, and notes it. Case is ignored. */
  again(name: Uint8Array): boolean {
    let hash = FNV_START;
    // Setting the case bit of every octet makes some names collide, which a hash may do.
    for (let i = 0; i < name.length; i++) hash = fnvStep(hash, name[i]! | 0x20);
    return this.hashes.again(fnvEnd(hash));
  }
}
