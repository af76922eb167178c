import {
  ERROR,
  FLAG,
  FRAME,
  FRAME_OCTETS,
  type FrameReader,
  type FrameWriter,
  SETTING,
  STREAM_ID_MAX,
  u31At,
  WINDOW_MAX,
} from './frames.ts';
import {
  AbuseCounter,
  HEADER_LIST_OCTETS,
  type Http2Limits,
  OVERHEAD,
  SMALL_DATA,
  TABLE_OCTETS,
} from './limits.ts';
import { type BlockFrame, HeaderBlock, HeadReader } from './request-head.ts';
import { type Http2StreamOptions, StreamTable } from './stream-table.ts';

/** SETTINGS of both sides (RFC 9113 §6.5). */

const ENTRY_OCTETS = 6;
const FRAME_OCTETS_MAX = 0xff_ffff;

/** A stream's window holds a body and one octet more: a body that is too long is detected, and no stream needs more. */
function ourSettings({ streams, body }: Http2Limits): readonly (readonly [number, number])[] {
  return [
    [SETTING.headerTableSize, TABLE_OCTETS],
    [SETTING.maxConcurrentStreams, streams],
    [SETTING.initialWindowSize, body + 1],
    [SETTING.maxFrameSize, FRAME_OCTETS],
    [SETTING.maxHeaderListSize, HEADER_LIST_OCTETS],
  ];
}

interface PeerSettings {
  headerTableSize?: number;
  initialWindowSize?: number;
}

/**
 * Reads the payload `octets[from..to)`. The last of a repeated setting counts, except the least table size (RFC 7541 §4.2).
 * @returns the settings, or the connection error
 */
function readSettings(octets: Buffer, from: number, to: number): PeerSettings | number {
  if ((to - from) % ENTRY_OCTETS !== 0) return ERROR.frameSize;
  const settings: PeerSettings = {};
  for (let at = from; at < to; at += ENTRY_OCTETS) {
    const value = octets.readUInt32BE(at + 2);
    switch (octets.readUInt16BE(at)) {
      case SETTING.headerTableSize:
        settings.headerTableSize = Math.min(value, settings.headerTableSize ?? value);
        break;
      case SETTING.enablePush:
        if (value > 1) return ERROR.protocol;
        break;
      case SETTING.initialWindowSize:
        if (value > WINDOW_MAX) return ERROR.flowControl;
        settings.initialWindowSize = value;
        break;
      case SETTING.maxFrameSize:
        if (value < FRAME_OCTETS || value > FRAME_OCTETS_MAX) return ERROR.protocol;
        break;
      default:
    }
  }
  return settings;
}

const PRIORITY_OCTETS = 5;
const RESET_OCTETS = 4;
const PING_OCTETS = 8;
const GOAWAY_OCTETS = 8;
const UPDATE_OCTETS = 4;
const SETTINGS_A_CHARGE = 32;
/** Payload of the PING whose answer confirms that the peer has seen GOAWAY. */
const LEAVING_PING = Buffer.from('leaving!', 'latin1');

/** Handles frames in order: those of the connection here, those of streams in their table (RFC 9113 §6). */
export class Session {
  readonly streams: StreamTable;
  /** A GOAWAY was sent or received: the connection ends with its last stream. */
  leaving = false;
  /** The peer has seen our first GOAWAY. */
  farewell = false;
  readonly #writer: FrameWriter;
  readonly #heads = new HeadReader();
  readonly #block = new HeaderBlock();
  readonly #overhead: AbuseCounter;
  #greeted = false;
  #accepting = true;

  /** @param onReply see `StreamTable` */
  constructor(writer: FrameWriter, options: Http2StreamOptions, onReply: () => void, now: number) {
    this.#writer = writer;
    this.#overhead = new AbuseCounter(OVERHEAD, now);
    this.streams = new StreamTable(writer, options, onReply, now);
    writer.settings(ourSettings(options.limits));
    this.streams.tellWindow();
  }

  /** A header block is incomplete. */
  get midway(): boolean {
    return this.#block.open !== null;
  }

  /** Handles one frame. @returns ERROR.none, or the connection error */
  handle(frame: FrameReader): number {
    const { open } = this.#block;
    if (open !== null && (frame.type !== FRAME.continuation || frame.streamId !== open.streamId))
      return ERROR.protocol;
    if (!this.#greeted) {
      // SETTINGS must be the first frame (RFC 9113 §3.4).
      if (frame.type !== FRAME.settings || (frame.flags & FLAG.ack) !== 0) return ERROR.protocol;
      this.#greeted = true;
    }
    switch (frame.type) {
      case FRAME.data:
        return this.#data(frame);
      case FRAME.headers:
        return this.#headers(frame);
      case FRAME.priority:
        return this.#priority(frame);
      case FRAME.rstStream:
        return this.#rstStream(frame);
      case FRAME.settings:
        return this.#settings(frame);
      case FRAME.pushPromise:
        return ERROR.protocol;
      case FRAME.ping:
        return this.#ping(frame);
      case FRAME.goaway:
        return this.#goaway(frame);
      case FRAME.windowUpdate:
        return this.#windowUpdate(frame);
      case FRAME.continuation:
        return this.#continuation(frame, open);
      default:
        return this.#charge();
    }
  }

  /** The first of two GOAWAYs (RFC 9113 §6.8): requests in transit are still served. */
  leave(): void {
    this.leaving = true;
    this.#writer.goaway(STREAM_ID_MAX, ERROR.none);
    this.#writer.ping(LEAVING_PING, 0, false);
  }

  /** The last GOAWAY: later requests are not served, and may be retried elsewhere. */
  close(code: number): void {
    if (!this.#accepting && code === ERROR.none) return;
    this.leaving = true;
    this.#accepting = false;
    this.#writer.goaway(this.streams.lastId, code);
  }

  #data(frame: FrameReader): number {
    const { streamId, octets } = frame;
    const length = frame.to - frame.from;
    if (streamId === 0 || !frame.unpad()) return ERROR.protocol;
    const endStream = (frame.flags & FLAG.endStream) !== 0;
    if (!endStream && frame.to - frame.from < SMALL_DATA && this.#charge() !== ERROR.none)
      return ERROR.enhanceYourCalm;
    return this.streams.data(streamId, octets, frame.from, frame.to, length, endStream);
  }

  #headers(frame: FrameReader): number {
    const { streamId, flags } = frame;
    if (streamId % 2 === 0 || !frame.unpad()) return ERROR.protocol;
    let selfDependent = false;
    if ((flags & FLAG.priority) !== 0) {
      if (frame.to - frame.from < PRIORITY_OCTETS) return ERROR.frameSize;
      selfDependent = u31At(frame.octets, frame.from) === streamId;
      frame.from += PRIORITY_OCTETS;
    }
    const begun = { streamId, selfDependent, endStream: (flags & FLAG.endStream) !== 0 };
    if ((flags & FLAG.endHeaders) !== 0) return this.#whole(begun, frame.octets, frame.from, frame.to);
    this.#block.begin(begun, frame.octets, frame.from, frame.to);
    return ERROR.none;
  }

  #continuation(frame: FrameReader, open: BlockFrame | null): number {
    if (open === null) return ERROR.protocol;
    if (!this.#block.continue(frame.octets, frame.from, frame.to)) return ERROR.enhanceYourCalm;
    const charged = this.#charge();
    if (charged !== ERROR.none || (frame.flags & FLAG.endHeaders) === 0) return charged;
    const block = this.#block.finish();
    return this.#whole(open, block, 0, block.length);
  }

  /** A whole header block. Always decoded, because all streams share the table. */
  #whole(begun: BlockFrame, block: Buffer, from: number, to: number): number {
    const { streamId, endStream } = begun;
    const { streams } = this;
    if (streamId <= streams.lastId) {
      const fault = this.#heads.trailers(block, from, to);
      if (fault === ERROR.compression) return fault;
      return this.#charge() || streams.trailers(streamId, fault === 0 && endStream);
    }
    const head = this.#heads.request(block, from, to);
    if (head === ERROR.compression) return head;
    streams.lastId = streamId;
    if (!this.#accepting) {
      streams.ignore(streamId);
      return this.#charge();
    }
    this.#overhead.earn(OVERHEAD.perRequest);
    return streams.begin(streamId, begun.selfDependent ? ERROR.protocol : head, endStream);
  }

  /** Priorities are ignored (RFC 9113 §5.3.2); a stream that depends on itself is still an error. */
  #priority({ streamId, octets, from, to }: FrameReader): number {
    if (streamId === 0) return ERROR.protocol;
    const stream = this.streams.open.get(streamId);
    const fault = to - from !== PRIORITY_OCTETS ? ERROR.frameSize : ERROR.protocol;
    if (fault === ERROR.frameSize || u31At(octets, from) === streamId)
      return stream === undefined ? fault : this.streams.reset(stream, fault);
    return this.#charge();
  }

  #rstStream({ streamId, from, to }: FrameReader): number {
    if (to - from !== RESET_OCTETS) return ERROR.frameSize;
    if (this.streams.isIdle(streamId)) return ERROR.protocol;
    const stream = this.streams.open.get(streamId);
    if (stream === undefined) return this.#charge();
    return this.streams.wasReset(stream);
  }

  #settings({ streamId, flags, octets, from, to }: FrameReader): number {
    if (streamId !== 0) return ERROR.protocol;
    if ((flags & FLAG.ack) !== 0) return from === to ? this.#charge() : ERROR.frameSize;
    const settings = readSettings(octets, from, to);
    if (typeof settings === 'number') return settings;
    const { headerTableSize, initialWindowSize } = settings;
    if (headerTableSize !== undefined) this.streams.sender.limitTable(headerTableSize);
    if (
      initialWindowSize !== undefined &&
      !this.streams.sender.moveWindows(initialWindowSize, this.streams.open.values())
    )
      return ERROR.flowControl;
    this.#writer.settingsAck();
    return this.#charge(1 + (to - from) / SETTINGS_A_CHARGE);
  }

  #ping({ streamId, flags, octets, from, to }: FrameReader): number {
    if (streamId !== 0) return ERROR.protocol;
    if (to - from !== PING_OCTETS) return ERROR.frameSize;
    if ((flags & FLAG.ack) === 0) this.#writer.ping(octets, from, true);
    else this.farewell ||= this.leaving && LEAVING_PING.compare(octets, from, to) === 0;
    return this.#charge();
  }

  #goaway({ streamId, from, to }: FrameReader): number {
    if (streamId !== 0) return ERROR.protocol;
    if (to - from < GOAWAY_OCTETS) return ERROR.frameSize;
    this.leaving = true;
    return this.#charge();
  }

  #windowUpdate({ streamId, octets, from, to }: FrameReader): number {
    if (to - from !== UPDATE_OCTETS) return ERROR.frameSize;
    const by = u31At(octets, from);
    if (streamId === 0) {
      if (by === 0) return ERROR.protocol;
      return this.streams.sender.widen(by) ? this.#charge() : ERROR.flowControl;
    }
    if (this.streams.isIdle(streamId)) return ERROR.protocol;
    const stream = this.streams.open.get(streamId);
    if (stream === undefined) return this.#charge();
    if (by === 0) return this.streams.reset(stream, ERROR.protocol);
    if (!this.streams.sender.widenStream(stream, by)) return this.streams.reset(stream, ERROR.flowControl);
    return this.#charge();
  }

  #charge(amount = 1): number {
    return this.#overhead.spend(this.streams.now, amount) ? ERROR.none : ERROR.enhanceYourCalm;
  }
}
