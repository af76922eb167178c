/** The buffer in which a thread builds the replies of one tick, each after its two-octet length (RFC 7766 §8). */

/** Reading pauses while this many octets wait for the peer. Also the socket's high-water mark. */
export const WRITE_BUFFER_OCTETS = 65_536;
/** Octets of the longest DNS message over a stream. */
export const LONGEST = 0xffff;
const LENGTH_OCTETS = 2;

/** The last reply of a tick begins below `WRITE_BUFFER_OCTETS`. */
const output = Buffer.allocUnsafeSlow(WRITE_BUFFER_OCTETS + LENGTH_OCTETS + LONGEST);

/** Memory for the message whose length goes to `at`. */
export function replyAt(at: number): Buffer {
  return output.subarray(at + LENGTH_OCTETS, at + LENGTH_OCTETS + LONGEST);
}

/** Writes the length at `at`. @param octets of the message after it @returns octets of both */
export function endReply(at: number, octets: number): number {
  output[at] = octets >> 8;
  output[at + 1] = octets & 0xff;
  return LENGTH_OCTETS + octets;
}

/** The first `octets`, copied: a socket may keep them until the peer reads. */
export function copyOfReplies(octets: number): Buffer {
  return Buffer.copyBytesFrom(output, 0, octets);
}

/** The two-octet length prefix of DNS over streams (RFC 1035 §4.2.2, RFC 7766 §8). */

const EMPTY = new Uint8Array(0);
/** First buffer of a message. A length field alone must not allocate 64 KiB. */
const FIRST_PARTIAL_OCTETS = 512;

/**
 * Splits a stream into messages: push chunks, then call `next` until it returns null. A message within one chunk is a view
 * of it. Others are gathered in a buffer that doubles: at most twice the octets received, and 64 KiB beside the chunks.
 */
export class FrameSplitter {
  /** A length of zero was announced: the stream is out of step. */
  fault = false;
  #chunk: Uint8Array = EMPTY;
  #at = 0;
  /** Chunks after `#chunk`, which `next` has not reached. */
  readonly #later: Uint8Array[] = [];
  #laterOctets = 0;
  /** Octets of the length field read so far, and their value. */
  #lengthSeen = 0;
  #length = 0;
  #partial: Uint8Array = EMPTY;
  #gathered = 0;

  push(chunk: Uint8Array): void {
    if (this.octets > 0) {
      this.#later.push(chunk);
      this.#laterOctets += chunk.length;
    } else {
      this.#chunk = chunk;
      this.#at = 0;
    }
  }

  /** Octets not read yet. */
  get octets(): number {
    return this.#chunk.length - this.#at + this.#laterOctets;
  }

  /** Chunks not read to their end. */
  get chunks(): number {
    return this.#later.length + (this.#at < this.#chunk.length ? 1 : 0);
  }

  /** Whether part of a message is waiting. */
  get pending(): boolean {
    return this.#lengthSeen > 0 || this.octets > 0;
  }

  /** The next message without its length; null: more octets needed, or a fault. */
  next(): Uint8Array | null {
    if (this.fault || !this.#readLength()) return null;
    while (this.#chunk.length - this.#at < this.#length - this.#gathered) {
      this.#gather(this.#chunk.length - this.#at);
      if (!this.#advance()) return null;
    }
    const missing = this.#length - this.#gathered;
    if (this.#gathered === 0) {
      const message = this.#chunk.subarray(this.#at, this.#at + missing);
      this.#at += missing;
      this.#reset();
      return message;
    }
    this.#gather(missing);
    const message = this.#partial.subarray(0, this.#length);
    this.#reset();
    return message;
  }

  #readLength(): boolean {
    while (this.#lengthSeen < LENGTH_OCTETS) {
      if (this.#at === this.#chunk.length && !this.#advance()) return false;
      this.#length = ((this.#length << 8) | this.#chunk[this.#at]!) & LONGEST;
      this.#at++;
      this.#lengthSeen++;
    }
    if (this.#length === 0) this.fault = true;
    return !this.fault;
  }

  #gather(octets: number): void {
    const needed = this.#gathered + octets;
    if (needed > this.#partial.length) {
      const grown = new Uint8Array(Math.min(this.#length, Math.max(FIRST_PARTIAL_OCTETS, needed * 2)));
      grown.set(this.#partial.subarray(0, this.#gathered));
      this.#partial = grown;
    }
    this.#partial.set(this.#chunk.subarray(this.#at, this.#at + octets), this.#gathered);
    this.#gathered = needed;
    this.#at += octets;
  }

  /** Releases a chunk that was read to its end. @returns whether there is another one */
  #advance(): boolean {
    this.#chunk = this.#later.shift() ?? EMPTY;
    this.#laterOctets -= this.#chunk.length;
    this.#at = 0;
    return this.#chunk !== EMPTY;
  }

  #reset(): void {
    this.#lengthSeen = 0;
    this.#length = 0;
    this.#gathered = 0;
    this.#partial = EMPTY;
  }
}
