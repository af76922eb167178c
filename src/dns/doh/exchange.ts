/** The types that HTTP/1.1 and both implementations of HTTP/2 share. */

import type { Socket } from 'node:net';
import type { Holder } from '../../base/lifecycle/places.ts';

/** The parts of a request's header section that DoH reads. */
export interface RequestHead {
  readonly method: string;
  /** Path and query as sent; '' for CONNECT, which has none. */
  readonly target: string;
  readonly contentType: string | undefined;
  readonly contentLength: string | undefined;
  /** The header section is larger than the limits allow; the reply is a 431. */
  readonly tooLarge: boolean;
}

/** Header fields by lower-case name. */
export type Headers = Readonly<Record<string, string>>;

export interface HttpReply {
  readonly status: number;
  /** Without the fields that every reply has, and without Content-Length. */
  readonly headers: Headers;
  readonly body: Uint8Array;
}

/** Why a body is incomplete. After 'gone' no reply can reach the client. */
export type BodyFault = 'too-large' | 'too-slow' | 'gone';
export type BodyTaker = (body: Uint8Array | BodyFault) => void;

export interface Exchange {
  /** Valid until the receiving function returns: HTTP/2 then drops it to save memory. */
  readonly head: RequestHead;
  /** Calls `taker` once, now or later, with the whole body or a fault. Call it at most once. */
  readBody(taker: BodyTaker): void;
  /** The peer's IP address, for rate limits and cookies. */
  readonly address: () => string;
  /** Sends the reply, unless the peer is gone or already has one. Never throws. */
  respond(reply: HttpReply): void;
}

/** The connections of one HTTP version. The TLS server hands over a socket once ALPN has chosen that version. */
export interface HttpConnections {
  /** @returns what the socket's place is used for */
  serve(socket: Socket): Holder;
  /** Closes every connection after its requests in flight are answered. */
  drain(): void;
  /** Stops the timers, once no connection is open. */
  stop(): void;
}
