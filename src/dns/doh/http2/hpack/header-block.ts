import { BLOCK_OCTETS, CONTINUATIONS } from '../limits.ts';

export interface BlockFrame {
  readonly streamId: number;
  readonly endStream: boolean;
  /** The stream depends on itself: an error. */
  readonly selfDependent: boolean;
}

/** A header block in several frames. No other frame may come between them (RFC 9113 §6.10). */
export class HeaderBlock {
  /** The first frame of an incomplete block. */
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

  /** @returns false when the block has too many octets or frames */
  continue(octets: Buffer, from: number, to: number): boolean {
    this.#frames++;
    if (this.#frames > CONTINUATIONS || this.#length + to - from > BLOCK_OCTETS) return false;
    this.#append(octets, from, to);
    return true;
  }

  /** The whole block; its memory is released. */
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
