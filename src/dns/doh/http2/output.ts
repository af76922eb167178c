import { FLAG, FRAME, FRAME_HEAD_OCTETS } from './codes.ts';

/** Receives the octets of a connection: a socket, or a test's memory. */
export interface Sink {
  /** Takes octets that are never rewritten. @returns false: full, until `Http2Connection.drained` is called */
  write(parts: readonly Buffer[]): boolean;
  /** Pauses and resumes reading. */
  pause(): void;
  resume(): void;
  /** Closes after the octets written. */
  end(): void;
  destroy(): void;
}

const SLAB_OCTETS = 65_536;
const NONE = Buffer.alloc(0);
/** Frames of all connections are written here in order. Octets are never rewritten: a socket may keep them. */
let slab = Buffer.allocUnsafeSlow(SLAB_OCTETS);
let used = 0;

/** Frames to send. Frames of one tick leave in one write. */
export class FrameWriter {
  /** Octets not flushed yet. */
  queued = 0;
  readonly #sink: Sink;
  /** Parts of slabs before the last one, which is `#slab[#from..#to)`. */
  readonly #full: Buffer[] = [];
  #slab = NONE;
  #from = 0;
  #to = 0;

  constructor(sink: Sink) {
    this.#sink = sink;
  }

  /** HEADERS with the block `octets[0..length)`. */
  headers(streamId: number, octets: Buffer, length: number, endStream: boolean): void {
    const flags = FLAG.endHeaders | (endStream ? FLAG.endStream : 0);
    const at = this.#frame(length, FRAME.headers, flags, streamId);
    octets.copy(this.#slab, at, 0, length);
  }

  data(streamId: number, octets: Uint8Array, from: number, to: number, endStream: boolean): void {
    const at = this.#frame(to - from, FRAME.data, endStream ? FLAG.endStream : 0, streamId);
    const whole = from === 0 && to === octets.length;
    this.#slab.set(whole ? octets : octets.subarray(from, to), at);
  }

  /** @param pairs identifier and value */
  settings(pairs: readonly (readonly [id: number, value: number])[]): void {
    let at = this.#frame(pairs.length * 6, FRAME.settings, 0, 0);
    for (const [id, value] of pairs) {
      at = this.#slab.writeUInt16BE(id, at);
      at = this.#slab.writeUInt32BE(value, at);
    }
  }

  settingsAck(): void {
    this.#frame(0, FRAME.settings, FLAG.ack, 0);
  }

  /** @param octets the eight of a PING start at `from` */
  ping(octets: Buffer, from: number, ack: boolean): void {
    const at = this.#frame(8, FRAME.ping, ack ? FLAG.ack : 0, 0);
    octets.copy(this.#slab, at, from, from + 8);
  }

  reset(streamId: number, code: number): void {
    const at = this.#frame(4, FRAME.rstStream, 0, streamId);
    this.#slab.writeUInt32BE(code, at);
  }

  windowUpdate(streamId: number, octets: number): void {
    const at = this.#frame(4, FRAME.windowUpdate, 0, streamId);
    this.#slab.writeUInt32BE(octets, at);
  }

  goaway(lastStreamId: number, code: number): void {
    const at = this.#frame(8, FRAME.goaway, 0, 0);
    this.#slab.writeUInt32BE(lastStreamId, at);
    this.#slab.writeUInt32BE(code, at + 4);
  }

  /** @returns the result of the sink; true without octets */
  flush(): boolean {
    if (this.queued === 0) return true;
    this.#full.push(this.#slab.subarray(this.#from, this.#to));
    const parts = this.#full.splice(0);
    // An idle connection keeps no slab alive.
    this.#slab = NONE;
    this.#from = 0;
    this.#to = 0;
    this.queued = 0;
    return this.#sink.write(parts);
  }

  /** Writes a frame's head. @returns the offset of its payload in `#slab` */
  #frame(length: number, type: number, flags: number, streamId: number): number {
    const at = this.#reserve(FRAME_HEAD_OCTETS + length);
    const out = this.#slab;
    out[at] = length >> 16;
    out[at + 1] = length >> 8;
    out[at + 2] = length;
    out[at + 3] = type;
    out[at + 4] = flags;
    out[at + 5] = streamId >> 24;
    out[at + 6] = streamId >> 16;
    out[at + 7] = streamId >> 8;
    out[at + 8] = streamId;
    return at + FRAME_HEAD_OCTETS;
  }

  #reserve(octets: number): number {
    if (used + octets > SLAB_OCTETS) {
      slab = Buffer.allocUnsafeSlow(SLAB_OCTETS);
      used = 0;
    }
    // Another connection may have written since.
    if (this.#slab !== slab || this.#to !== used) {
      if (this.#to > this.#from) this.#full.push(this.#slab.subarray(this.#from, this.#to));
      this.#slab = slab;
      this.#from = used;
    }
    const at = used;
    used += octets;
    this.#to = used;
    this.queued += octets;
    return at;
  }
}
