import {
  constants,
  type IncomingHttpHeaders,
  performServerHandshake,
  type ServerHttp2Session,
  type ServerHttp2Stream,
} from 'node:http2';
import type { Socket } from 'node:net';
import type { Clock } from '../../../../core/clock.ts';
import type { Exchange, Headers, HttpReply, RequestHead } from '../exchange.ts';
import { AbuseCounter } from '../http2/abuse-counter.ts';
import {
  CONNECTION_WINDOW,
  EARLY_MS,
  GOAWAY_MS,
  HEADER_FIELDS,
  HEADER_LIST_OCTETS,
  type Http2Limits,
  RESETS,
  UNFINISHED_BODIES,
  WORK_FACTOR,
} from '../http2/limits.ts';
import { readBody } from '../request-body.ts';
import { NODE_ABUSE_LIMITS } from './limits.ts';

export interface NodeHttp2Options {
  readonly limits: Http2Limits;
  readonly clock: Clock;
  readonly common: Headers;
  readonly onRequest: (exchange: Exchange) => void;
}

const { NGHTTP2_CANCEL, NGHTTP2_ENHANCE_YOUR_CALM, NGHTTP2_NO_ERROR, NGHTTP2_REFUSED_STREAM } = constants;
/** In a first GOAWAY: no stream is refused yet (RFC 9113 §6.8). */
const STREAM_ID_MAX = 0x7fff_ffff;
/** A 204 has neither body nor length (RFC 9110 §8.6). */
const NO_CONTENT = 204;

export class NodeHttp2Session {
  readonly #options: NodeHttp2Options;
  readonly #session: ServerHttp2Session;
  readonly #address: string;
  /** Open streams, with the time of their reply; null: none yet. */
  readonly #open = new Map<ServerHttp2Stream, number | null>();
  /** Requests without an answer yet, including those that the peer has reset. */
  #working = 0;
  /** Those of them whose body has not ended. */
  #reading = 0;
  /** Bodies in a row that did not end, since the last whole request. */
  #unfinished = 0;
  /** Time of the last reply to a whole request, or of the beginning. */
  #finishedAt: number;
  readonly #resets: AbuseCounter;
  /** Time of the last request or reply. */
  #activeAt: number;
  #goaway: NodeJS.Timeout | undefined;

  constructor(socket: Socket, options: NodeHttp2Options) {
    this.#options = options;
    this.#address = socket.remoteAddress ?? '';
    this.#activeAt = this.#finishedAt = options.clock();
    this.#resets = new AbuseCounter(RESETS, this.#activeAt);
    const { limits } = options;
    this.#session = performServerHandshake(socket, {
      ...NODE_ABUSE_LIMITS,
      settings: {
        maxConcurrentStreams: limits.streams,
        // One octet more than the limit, so that a body that is too long is detected.
        initialWindowSize: limits.body + 1,
        maxHeaderListSize: HEADER_LIST_OCTETS,
      },
    });
    // 'close' follows. Without this listener a fault of the peer would end the process.
    this.#session.on('error', () => this.#session.destroy());
    this.#session.once('close', () => clearTimeout(this.#goaway));
    this.#session.setLocalWindowSize(CONNECTION_WINDOW);
    this.#session.on('stream', (stream, headers, _flags, rawHeaders) =>
      this.#begin(stream, headOf(headers, rawHeaders.length / 2)),
    );
  }

  /** Time of the last reply to a whole request, or of the beginning; null while a whole request waits for its reply. */
  get idleSince(): number | null {
    return this.#session.destroyed || this.#working > this.#reading ? null : this.#finishedAt;
  }

  abort(): void {
    this.#session.destroy();
  }

  /** Serves the open streams, refuses later ones, then closes: two GOAWAYs with a PING between them. */
  drain(): void {
    if (this.#session.closed || this.#session.destroyed || this.#goaway !== undefined) return;
    const close = (): void => {
      clearTimeout(this.#goaway);
      if (!this.#session.destroyed) this.#session.close();
    };
    this.#goaway = setTimeout(close, GOAWAY_MS).unref();
    this.#session.goaway(NGHTTP2_NO_ERROR, STREAM_ID_MAX);
    this.#session.ping(close);
  }

  /** Enforces the deadlines. Call it several times within the shortest of them. */
  sweep(): void {
    const now = this.#options.clock();
    const { idleMs } = this.#options.limits;
    for (const [stream, answeredAt] of this.#open) {
      if (answeredAt === null) continue;
      if (now - answeredAt >= idleMs) stream.close(NGHTTP2_CANCEL);
      // The reply has left before the request was complete: the rest is not read (RFC 9113 §8.1).
      else if (stream.writableFinished && now - answeredAt >= EARLY_MS) stream.close(NGHTTP2_NO_ERROR);
    }
    if (this.#open.size === 0 && now - this.#activeAt >= idleMs) this.#session.close();
  }

  #begin(stream: ServerHttp2Stream, head: RequestHead): void {
    stream.on('error', () => stream.destroy());
    this.#open.set(stream, null);
    stream.once('close', () => this.#ended(stream));
    if (this.#working >= WORK_FACTOR * this.#options.limits.streams) {
      stream.close(NGHTTP2_REFUSED_STREAM);
      return;
    }
    this.#working++;
    this.#activeAt = this.#options.clock();
    this.#options.onRequest(this.#exchangeOf(stream, head));
  }

  /** Counts resets by the peer, and those it provokes. nghttp2 counts too, but stops reading without an event. */
  #ended(stream: ServerHttp2Stream): void {
    this.#open.delete(stream);
    const wasReset = stream.aborted || stream.rstCode !== NGHTTP2_NO_ERROR;
    if (!wasReset || this.#session.destroyed || this.#resets.spend(this.#options.clock())) return;
    this.#session.destroy(undefined, NGHTTP2_ENHANCE_YOUR_CALM);
  }

  #chargeUnfinished(): void {
    if (++this.#unfinished >= UNFINISHED_BODIES && !this.#session.destroyed)
      this.#session.destroy(undefined, NGHTTP2_ENHANCE_YOUR_CALM);
  }

  #exchangeOf(stream: ServerHttp2Stream, head: RequestHead): Exchange {
    const { body, requestMs } = this.#options.limits;
    let isWorking = true;
    let isUnfinished = false;
    const finishWork = (): void => {
      if (isWorking) this.#working--;
      isWorking = false;
    };
    return {
      head,
      address: () => this.#address,
      readBody: (taker) => {
        this.#reading++;
        readBody(stream, { octets: body, ms: requestMs }, (result) => {
          this.#reading--;
          isUnfinished = typeof result === 'string';
          if (result === 'gone') finishWork();
          taker(result);
          if (result === 'gone' || result === 'too-slow') this.#chargeUnfinished();
        });
      },
      respond: (reply) => {
        finishWork();
        this.#activeAt = this.#options.clock();
        if (!isUnfinished) {
          this.#finishedAt = this.#activeAt;
          this.#unfinished = 0;
        }
        if (stream.destroyed || stream.headersSent) return;
        this.#open.set(stream, this.#activeAt);
        this.#send(stream, head.method === 'HEAD', reply);
      },
    };
  }

  #send(stream: ServerHttp2Stream, isHead: boolean, { status, headers, body }: HttpReply): void {
    const length = status === NO_CONTENT ? {} : { 'content-length': String(body.length) };
    const fields = { ':status': status, ...this.#options.common, ...headers, ...length };
    const endStream = isHead || body.length === 0;
    // `sendDate` works and is missing from the types. The other implementation sends no Date either.
    const options = { endStream, sendDate: false };
    stream.respond(fields, options);
    if (!endStream) stream.end(body);
  }
}

function headOf(headers: IncomingHttpHeaders, fields: number): RequestHead {
  return {
    method: headers[constants.HTTP2_HEADER_METHOD] as string,
    target: (headers[constants.HTTP2_HEADER_PATH] as string | undefined) ?? '',
    contentType: headers['content-type'],
    contentLength: headers['content-length'],
    tooLarge: fields > HEADER_FIELDS,
  };
}
