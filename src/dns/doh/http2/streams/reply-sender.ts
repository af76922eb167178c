import type { HttpReply } from '../../exchange.ts';
import { DEFAULT_WINDOW, FRAME_OCTETS, WINDOW_MAX } from '../codes.ts';
import { type CommonHeaders, HpackEncoder } from '../hpack/hpack-encoder.ts';
import { HELD_OCTETS, OUTPUT_OCTETS } from '../limits.ts';
import type { FrameWriter } from '../output.ts';
import type { Http2Stream } from './stream.ts';

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

  /** @returns whether octets wait for the socket */
  pump(): boolean {
    for (const stream of this.#waiting) {
      if (this.#window <= 0) return false;
      if (this.#writer.queued >= OUTPUT_OCTETS) return true;
      this.#send(stream);
    }
    return this.#writer.queued >= OUTPUT_OCTETS && this.#waiting.size > 0;
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
