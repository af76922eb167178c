import { FLAG, FRAME_HEAD_OCTETS, FRAME_OCTETS, PREFACE } from './codes.ts';

const NONE = Buffer.alloc(0);

/** Splits octets into frames. A frame within one chunk is a view; others are gathered. Callers never rewrite a chunk. */
export class FrameReader {
  /** The last frame: its payload is `octets[from..to)`. */
  type = 0;
  flags = 0;
  streamId = 0;
  octets: Buffer = NONE;
  from = 0;
  to = 0;
  #chunk: Buffer = NONE;
  #at = 0;
  #prefaced = 0;
  /** The frame being gathered; at first its head alone. */
  #partial: Buffer | null = null;
  #have = 0;

  push(chunk: Buffer): void {
    const rest = this.#chunk.length - this.#at;
    this.#chunk = rest > 0 ? Buffer.concat([this.#chunk.subarray(this.#at), chunk]) : chunk;
    this.#at = 0;
  }

  /** A preface or frame is incomplete. */
  get midway(): boolean {
    return this.#prefaced < PREFACE.length || this.#partial !== null;
  }

  /** Unread octets. */
  get unread(): number {
    return this.#chunk.length - this.#at;
  }

  /** @returns whether the preface is complete; null: wrong octets */
  preface(): boolean | null {
    while (this.#prefaced < PREFACE.length && this.#at < this.#chunk.length) {
      if (this.#chunk[this.#at++] !== PREFACE[this.#prefaced++]) return null;
    }
    return this.#prefaced === PREFACE.length;
  }

  /** @returns whether a frame is complete; null: it is too long */
  next(): boolean | null {
    if (this.#partial !== null) return this.#complete();
    const chunk = this.#chunk;
    const at = this.#at;
    if (chunk.length - at < FRAME_HEAD_OCTETS) return this.#begin(FRAME_HEAD_OCTETS);
    const length = lengthAt(chunk, at);
    if (length > FRAME_OCTETS) return null;
    const end = at + FRAME_HEAD_OCTETS + length;
    if (end > chunk.length) return this.#begin(FRAME_HEAD_OCTETS + length);
    this.#at = end;
    this.#show(chunk, at, end);
    return true;
  }

  /** Removes padding of DATA and HEADERS (RFC 9113 §6.1). @returns false if padding exceeds the frame */
  unpad(): boolean {
    if ((this.flags & FLAG.padded) === 0) return true;
    if (this.from === this.to) return false;
    this.to -= this.octets[this.from++]!;
    return this.from <= this.to;
  }

  #begin(octets: number): boolean {
    if (this.unread > 0) {
      this.#partial = Buffer.allocUnsafe(octets);
      this.#have = 0;
      this.#fill(this.#partial);
    }
    this.#release();
    return false;
  }

  /** Releases a chunk that was read to its end. */
  #release(): void {
    this.#chunk = NONE;
    this.#at = 0;
  }

  #complete(): boolean | null {
    let partial = this.#partial!;
    if (!this.#fill(partial)) return false;
    if (partial.length === FRAME_HEAD_OCTETS) {
      const length = lengthAt(partial, 0);
      if (length > FRAME_OCTETS) return null;
      const whole = Buffer.allocUnsafe(FRAME_HEAD_OCTETS + length);
      partial.copy(whole);
      this.#partial = partial = whole;
      if (!this.#fill(whole)) return false;
    }
    this.#partial = null;
    this.#show(partial, 0, partial.length);
    return true;
  }

  #fill(partial: Buffer): boolean {
    const copied = this.#chunk.copy(partial, this.#have, this.#at);
    this.#have += copied;
    this.#at += copied;
    if (this.unread === 0) this.#release();
    return this.#have === partial.length;
  }

  #show(octets: Buffer, at: number, to: number): void {
    this.type = octets[at + 3]!;
    this.flags = octets[at + 4]!;
    this.streamId = u31At(octets, at + 5);
    this.octets = octets;
    this.from = at + FRAME_HEAD_OCTETS;
    this.to = to;
  }
}

function lengthAt(octets: Uint8Array, at: number): number {
  return (octets[at]! << 16) | (octets[at + 1]! << 8) | octets[at + 2]!;
}

/** Stream ids and window increments: the reserved top bit is ignored (RFC 9113 §4.1, §6.9). */
export function u31At(octets: Uint8Array, at: number): number {
  return ((octets[at]! & 0x7f) << 24) | (octets[at + 1]! << 16) | (octets[at + 2]! << 8) | octets[at + 3]!;
}
