import { BLOCK_OCTETS, CONTINUATIONS } from './limits.ts';

/** What a HEADERS frame says besides its block. */
export interface BlockFrame {
  readonly streamId: number;
  readonly endStream: boolean;
  /** Names itself as what it depends on. */
  readonly selfDependent: boolean;
}

/** A header block that comes in several frames (RFC 9113 §6.10): nothing else may come between them. */
export class HeaderBlock {
  /** The frame that began it, while it lasts. */
  open: BlockFrame | null = null;
  #octets: Buffer = Buffer.alloc(0);
  #length = 0;
  #frames = 0;

  begin(frame: BlockFrame, octets: Buffer, from: number, to: number): void {
    this.open = frame;
    this.#length = 0;
    this.#frames = 0;
    this.#append(octets, from, to);
  }

  /** @returns false for more octets, or more frames, than a block may have */
  continue(octets: Buffer, from: number, to: number): boolean {
    this.#frames++;
    if (this.#frames > CONTINUATIONS || this.#length + to - from > BLOCK_OCTETS) return false;
    this.#append(octets, from, to);
    return true;
  }

  /** The block, whole; its memory is let go. */
  finish(): Buffer {
    const block = this.#octets.subarray(0, this.#length);
    this.open = null;
    this.#octets = Buffer.alloc(0);
    return block;
  }

  #append(octets: Buffer, from: number, to: number): void {
    const needed = this.#length + to - from;
    if (needed > this.#octets.length) {
      const grown = Buffer.allocUnsafe(Math.min(BLOCK_OCTETS, Math.max(needed, 2 * this.#octets.length)));
      this.#octets.copy(grown, 0, 0, this.#length);
      this.#octets = grown;
    }
    octets.copy(this.#octets, this.#length, from, to);
    this.#length = needed;
  }
}
