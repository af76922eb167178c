/** Numbers of HTTP/2 (RFC 9113 §6, §7), with the names of the RFC. */

export const FRAME = {
  data: 0x0,
  headers: 0x1,
  priority: 0x2,
  rstStream: 0x3,
  settings: 0x4,
  pushPromise: 0x5,
  ping: 0x6,
  goaway: 0x7,
  windowUpdate: 0x8,
  continuation: 0x9,
} as const;

export const FLAG = {
  /** On DATA and HEADERS. */
  endStream: 0x1,
  /** On SETTINGS and PING: the same bit. */
  ack: 0x1,
  endHeaders: 0x4,
  padded: 0x8,
  priority: 0x20,
} as const;

export const ERROR = {
  none: 0x0,
  protocol: 0x1,
  internal: 0x2,
  flowControl: 0x3,
  settingsTimeout: 0x4,
  streamClosed: 0x5,
  frameSize: 0x6,
  refusedStream: 0x7,
  cancel: 0x8,
  compression: 0x9,
  connect: 0xa,
  enhanceYourCalm: 0xb,
} as const;

export const SETTING = {
  headerTableSize: 0x1,
  enablePush: 0x2,
  maxConcurrentStreams: 0x3,
  initialWindowSize: 0x4,
  maxFrameSize: 0x5,
  maxHeaderListSize: 0x6,
} as const;

/** The first octets of a client (RFC 9113 §3.4). */
export const PREFACE = Buffer.from('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n', 'latin1');

const FRAME_HEAD_OCTETS = 9;
/** Minimum and default of SETTINGS_MAX_FRAME_SIZE. Neither side sends larger frames here. */
export const FRAME_OCTETS = 16_384;
export const DEFAULT_WINDOW = 65_535;
export const WINDOW_MAX = 0x7fff_ffff;
export const DEFAULT_TABLE_OCTETS = 4096;
export const STREAM_ID_MAX = 0x7fff_ffff;

const NONE = Buffer.alloc(0);

const OF_REQUESTS: ReadonlySet<number> = new Set([FRAME.data, FRAME.headers, FRAME.continuation]);
/** Unread frames that are looked at: more may hold anything. */
const FRAMES_PEEKED = 16;

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

  /** Whether unread octets may be of a request: by the heads of a few frames. */
  get mayHoldRequest(): boolean {
    if (this.midway) return true;
    const chunk = this.#chunk;
    let at = this.#at;
    for (let frames = 0; at < chunk.length; frames++) {
      if (frames === FRAMES_PEEKED || at + FRAME_HEAD_OCTETS > chunk.length) return true;
      if (OF_REQUESTS.has(chunk[at + 3]!)) return true;
      at += FRAME_HEAD_OCTETS + lengthAt(chunk, at);
    }
    return false;
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

/** Receives the octets of a connection: a socket, or a test's memory. */
export interface Sink {
  /** Takes octets that are never rewritten. @returns false: full, until `Http2Connection.drained` is called */
  write(parts: readonly Buffer[]): boolean;
  /** Octets written that the system has not taken. */
  unsent(): number;
  /** Pauses and resumes reading. */
  pause(): void;
  resume(): void;
  /** Closes after the octets written. */
  end(): void;
  destroy(): void;
}

const SLAB_OCTETS = 65_536;
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
