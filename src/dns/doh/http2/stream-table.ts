import type { HttpReply, RequestHead } from '../request.ts';
import { DEFAULT_WINDOW, ERROR, FRAME_OCTETS, type FrameWriter, WINDOW_MAX } from './frames.ts';
import { type CommonHeaders, HpackEncoder } from './hpack-encoder.ts';
import {
  AbuseCounter,
  CONNECTION_WINDOW,
  EARLY_MS,
  HELD_OCTETS,
  type Http2Limits,
  OUTPUT_OCTETS,
  RESETS,
  RESETS_REMEMBERED,
  UNFINISHED_BODIES,
  WORK_FACTOR,
} from './limits.ts';
import { Http2Stream, type StreamOwner } from './stream.ts';

/** WINDOW_UPDATE is sent for a large part of the window, not for every frame. */
const WORTH_SAYING = CONNECTION_WINDOW / 4;

/** Octets that a peer may still send on the connection (RFC 9113 §5.2). */
class ReceiveWindow {
  #left = DEFAULT_WINDOW;
  /** Not announced yet. The protocol begins with less than our window. */
  #owed = CONNECTION_WINDOW - DEFAULT_WINDOW;

  /** @returns false when the peer sends more than it may */
  take(octets: number): boolean {
    this.#left -= octets;
    return this.#left >= 0;
  }

  giveBack(octets: number): void {
    this.#owed += octets;
  }

  /** The increment to send now, or 0. */
  due(): number {
    const octets = this.#owed;
    if (octets < WORTH_SAYING) return 0;
    this.#owed = 0;
    this.#left += octets;
    return octets;
  }
}

export interface Http2StreamOptions {
  readonly limits: Http2Limits;
  /** The peer's address. */
  readonly address: string;
  readonly common: CommonHeaders;
  /** A request whose head is complete. Call `respond` once, now or later, unless its body is 'gone'. */
  readonly onRequest: (stream: Http2Stream) => void;
}

/** WINDOW_UPDATE for padding of a stream is sent in such steps, octets. */
const PADDING_OCTETS = 8192;

/** The streams of one connection (RFC 9113 §5.1). Methods return connection errors. */
export class StreamTable implements StreamOwner {
  readonly address: string;
  readonly open = new Map<number, Http2Stream>();
  /** Milliseconds; the connection sets it. */
  now: number;
  /** Requests begun in total. */
  requests = 0;
  /** The highest id that a peer has used. */
  lastId = 0;
  /** Time of the last reply to a whole request, or of the beginning. */
  finishedAt: number;
  /** Bodies in a row that did not end, since the last whole request. */
  unfinished = 0;
  readonly sender: ReplySender;
  readonly #options: Http2StreamOptions;
  readonly #writer: FrameWriter;
  readonly #onReply: () => void;
  readonly #window = new ReceiveWindow();
  readonly #resets: AbuseCounter;
  /** Streams that the server reset, oldest first: frames in transit to them are no fault. */
  readonly #wasReset = new Set<number>();
  /** Requests without an answer yet, including those of reset streams. */
  #working = 0;

  /** @param onReply called for every reply, perhaps long after its request */
  constructor(writer: FrameWriter, options: Http2StreamOptions, onReply: () => void, now: number) {
    this.#writer = writer;
    this.#options = options;
    this.#onReply = onReply;
    this.address = options.address;
    this.now = this.finishedAt = now;
    this.#resets = new AbuseCounter(RESETS, now);
    this.sender = new ReplySender(writer, options.common, (stream) => this.#replied(stream));
  }

  /** Whole requests without a reply. A body that does not end is no work. */
  get answering(): number {
    let reading = 0;
    if (this.#working > 0) for (const stream of this.open.values()) if (stream.reading) reading++;
    return this.#working - reading;
  }

  /** The stream is idle: it had no request. */
  isIdle(streamId: number): boolean {
    return streamId % 2 === 0 || streamId > this.lastId;
  }

  begin(streamId: number, head: RequestHead | typeof ERROR.protocol, ended: boolean): number {
    const { limits, onRequest } = this.#options;
    if (this.open.size >= limits.streams || this.#working >= WORK_FACTOR * limits.streams)
      return this.#refuse(streamId, ERROR.refusedStream);
    if (head === ERROR.protocol) return this.#refuse(streamId, head);
    const windows = { ended, body: limits.body, send: this.sender.initialWindow };
    const stream = new Http2Stream(this, streamId, head, this.now, windows);
    if (ended && !stream.agrees(0, true)) return this.#refuse(streamId, ERROR.protocol);
    this.open.set(streamId, stream);
    this.requests++;
    this.#working++;
    onRequest(stream);
    stream.forgetHead();
    return ERROR.none;
  }

  /** DATA `octets[from..to)`, and padding within `length`. Octets handed over or dropped reopen the connection's window. */
  data(
    streamId: number,
    octets: Buffer,
    from: number,
    to: number,
    length: number,
    endStream: boolean,
  ): number {
    if (!this.#window.take(length)) return ERROR.flowControl;
    const stream = this.open.get(streamId);
    const fault = stream === undefined ? ERROR.none : dataFault(stream, length, to - from, endStream);
    if (stream === undefined || fault !== ERROR.none) {
      this.#window.giveBack(length);
      return stream === undefined ? this.stray(streamId) : this.reset(stream, fault);
    }
    this.#window.giveBack(length - (to - from));
    stream.kept += to - from;
    stream.padding += length - (to - from);
    if (stream.padding >= PADDING_OCTETS && !endStream) {
      this.#writer.windowUpdate(streamId, stream.padding);
      stream.receiveWindow += stream.padding;
      stream.padding = 0;
    }
    stream.remoteEnded = endStream;
    stream.receive(octets, from, to);
    this.#settle(stream);
    return ERROR.none;
  }

  /** Trailers, or an invalid second header block. */
  trailers(streamId: number, wellFormed: boolean): number {
    const stream = this.open.get(streamId);
    if (stream === undefined) return this.stray(streamId);
    if (stream.remoteEnded) return this.reset(stream, ERROR.streamClosed);
    if (!wellFormed || !stream.agrees(0, true)) return this.reset(stream, ERROR.protocol);
    stream.remoteEnded = true;
    stream.receive(EMPTY, 0, 0);
    this.#settle(stream);
    return ERROR.none;
  }

  /** The peer's RST_STREAM (CVE-2023-44487). */
  wasReset(stream: Http2Stream): number {
    const code = stream.reading ? this.#chargeUnfinished() : ERROR.none;
    this.#end(stream);
    return code || this.#chargeReset();
  }

  /** A reset that the peer provoked (CVE-2025-8671). */
  reset(stream: Http2Stream, code: number): number {
    this.#end(stream);
    return this.#refuse(stream.id, code);
  }

  stray(streamId: number): number {
    if (this.isIdle(streamId)) return ERROR.protocol;
    return this.#wasReset.has(streamId) ? ERROR.none : ERROR.streamClosed;
  }

  /** Refuses a stream: later frames to it are no fault. */
  ignore(streamId: number): void {
    this.#wasReset.add(streamId);
    if (this.#wasReset.size <= RESETS_REMEMBERED) return;
    for (const oldest of this.#wasReset) {
      this.#wasReset.delete(oldest);
      return;
    }
  }

  reply(stream: Http2Stream, reply: HttpReply): void {
    if (stream.answered) return;
    if (!stream.closed && !this.sender.reply(stream, reply)) this.reset(stream, ERROR.enhanceYourCalm);
    stream.answered = true;
    stream.answeredAt = this.now;
    this.#working--;
    if (stream.remoteEnded) {
      this.finishedAt = this.now;
      this.unfinished = 0;
    }
    this.#onReply();
  }

  /** Sends WINDOW_UPDATE. May wait for the end of a tick. */
  tellWindow(): void {
    const due = this.#window.due();
    if (due > 0) this.#writer.windowUpdate(0, due);
  }

  /** Ends slow requests, replies that are not taken in time, and the rest of requests already answered. */
  sweep(): number {
    const { requestMs, idleMs } = this.#options.limits;
    let code: number = ERROR.none;
    for (const stream of this.open.values()) {
      const answeredMs = this.now - stream.answeredAt;
      if (stream.reading && this.now - stream.openedAt >= requestMs) {
        stream.giveUp('too-slow');
        code ||= this.#chargeUnfinished();
      } else if (stream.waiting !== null && answeredMs >= idleMs) code ||= this.reset(stream, ERROR.cancel);
      else if (isEarly(stream) && answeredMs >= EARLY_MS) code ||= this.reset(stream, ERROR.none);
    }
    this.tellWindow();
    return code;
  }

  abandon(): void {
    for (const stream of this.open.values()) this.#end(stream);
  }

  /** Reopens the window for a body handed over or dropped; ends a stream whose both sides are complete. */
  #settle(stream: Http2Stream): void {
    if (stream.reading) return;
    this.#window.giveBack(stream.kept);
    stream.kept = 0;
    if (stream.remoteEnded && stream.answered && stream.waiting === null && !stream.closed) this.#end(stream);
  }

  #replied(stream: Http2Stream): void {
    if (stream.remoteEnded) this.#end(stream);
  }

  #refuse(streamId: number, code: number): number {
    this.#writer.reset(streamId, code);
    this.ignore(streamId);
    return this.#chargeReset();
  }

  #chargeUnfinished(): number {
    return ++this.unfinished < UNFINISHED_BODIES ? ERROR.none : ERROR.enhanceYourCalm;
  }

  #chargeReset(): number {
    return this.#resets.spend(this.now) ? ERROR.none : ERROR.enhanceYourCalm;
  }

  #end(stream: Http2Stream): void {
    stream.closed = true;
    this.open.delete(stream.id);
    this.sender.drop(stream);
    this.#window.giveBack(stream.kept);
    stream.kept = 0;
    if (!stream.reading) return;
    stream.answered = true;
    this.#working--;
    stream.giveUp('gone');
  }
}

const EMPTY = Buffer.alloc(0);

/** Answered in full before its request was complete. */
function isEarly({ closed, answered, waiting, remoteEnded }: Http2Stream): boolean {
  return !closed && answered && waiting === null && !remoteEnded;
}

/** The fault of a DATA frame on its stream: `length` with padding, `octets` without. */
function dataFault(stream: Http2Stream, length: number, octets: number, endStream: boolean): number {
  if (stream.remoteEnded) return ERROR.streamClosed;
  stream.receiveWindow -= length;
  if (stream.receiveWindow < 0) return ERROR.flowControl;
  return stream.agrees(octets, endStream) ? ERROR.none : ERROR.protocol;
}

/** A 204 has neither body nor length (RFC 9110 §8.6). */
const NO_CONTENT = 204;

/** Sends replies within the peer's windows and the socket's buffer (RFC 9113 §5.2). */
export class ReplySender {
  /** The peer's SETTINGS_INITIAL_WINDOW_SIZE. */
  initialWindow = DEFAULT_WINDOW;
  readonly #writer: FrameWriter;
  readonly #encoder: HpackEncoder;
  readonly #finished: (stream: Http2Stream) => void;
  readonly #waiting = new Set<Http2Stream>();
  #window = DEFAULT_WINDOW;
  #held = 0;

  /** @param finished called for each stream whose whole reply has left */
  constructor(writer: FrameWriter, common: CommonHeaders, finished: (stream: Http2Stream) => void) {
    this.#writer = writer;
    this.#encoder = new HpackEncoder(common);
    this.#finished = finished;
  }

  /** @returns false when too much waits for this peer: nothing was sent */
  reply(stream: Http2Stream, { status, headers, body }: HttpReply): boolean {
    const bare = stream.bodiless || body.length === 0;
    const ahead = bare || body.length <= Math.min(stream.sendWindow, this.#window) ? 0 : body.length;
    if (this.#held + ahead > HELD_OCTETS) return false;
    const length = this.#encoder.encode(status, headers, status === NO_CONTENT ? -1 : body.length);
    this.#writer.headers(stream.id, this.#encoder.octets, length, bare);
    if (bare) {
      this.#finished(stream);
      return true;
    }
    stream.waiting = body;
    this.#held += body.length;
    if (!this.#send(stream)) this.#waiting.add(stream);
    return true;
  }

  /** Octets of replies that wait. */
  get held(): number {
    return this.#held;
  }

  limitTable(octets: number): void {
    this.#encoder.limitTable(octets);
  }

  /** SETTINGS_INITIAL_WINDOW_SIZE changes every open stream's window, even below zero. @returns false on overflow */
  moveWindows(initial: number, streams: Iterable<Http2Stream>): boolean {
    const by = initial - this.initialWindow;
    this.initialWindow = initial;
    let fits = true;
    for (const stream of streams) fits = this.widenStream(stream, by) && fits;
    return fits;
  }

  /** @returns false on overflow */
  widen(by: number): boolean {
    this.#window += by;
    return this.#window <= WINDOW_MAX;
  }

  /** @returns false on overflow */
  widenStream(stream: Http2Stream, by: number): boolean {
    stream.sendWindow += by;
    return stream.sendWindow <= WINDOW_MAX;
  }

  drop(stream: Http2Stream): void {
    if (stream.waiting === null) return;
    this.#held -= stream.waiting.length - stream.sent;
    stream.waiting = null;
    this.#waiting.delete(stream);
  }

  /** @returns whether the writer is full, so that more may wait for it */
  pump(): boolean {
    for (const stream of this.#waiting) {
      if (this.#window <= 0) return false;
      if (this.#writer.queued >= OUTPUT_OCTETS) return true;
      this.#send(stream);
    }
    return this.#writer.queued >= OUTPUT_OCTETS;
  }

  /** @returns whether the whole reply was sent */
  #send(stream: Http2Stream): boolean {
    const body = stream.waiting!;
    for (;;) {
      const left = body.length - stream.sent;
      const octets = Math.min(left, stream.sendWindow, this.#window, FRAME_OCTETS);
      if (octets <= 0 || this.#writer.queued >= OUTPUT_OCTETS) return false;
      const from = stream.sent;
      this.#writer.data(stream.id, body, from, from + octets, octets === left);
      stream.sent += octets;
      stream.sendWindow -= octets;
      this.#window -= octets;
      this.#held -= octets;
      if (octets < left) continue;
      stream.waiting = null;
      this.#waiting.delete(stream);
      this.#finished(stream);
      return true;
    }
  }
}
