import type { Transport } from '../../../core/transport.ts';

/** Shares of the queue in which questions wait for a signature. A source uses one of them. */
export const QUEUE_SHARES = 64;

/**
 * One query in, one reply out. It is told the transport (size limits and some EDNS options differ) and never an address.
 * Neither method throws or rejects.
 */
export interface PacketHandler {
  /**
   * Answers from the packet cache, into the caller's buffer.
   *
   * @param request the message, at `request[0..length)`
   * @returns octets written to `out`, or 0: not cached, use `slow`
   */
  hot(request: Uint8Array, length: number, transport: Transport, out: Buffer): number;
  /**
   * Answers anything. Synchronous unless a service has to wait. The reply stays in a cache: it may be kept and queued,
   * but never changed.
   *
   * @param proven the peer has proved that it receives what is sent to its address: by a valid server cookie (RFC 7873),
   *   or by having opened a stream
   * @param share where the question queues if it has to wait, 0 to QUEUE_SHARES - 1; see `queueShare`. Absent: 0
   * @returns the reply, or null for silence (RFC 8906: only what is no query at all)
   */
  slow(
    request: Uint8Array,
    transport: Transport,
    proven: boolean,
    share?: number,
  ): Uint8Array | null | Promise<Uint8Array | null>;
}

/** What the JSON API makes of one request. The transport turns it into an HTTP reply. */
export type JsonResult =
  /** The parameters are wrong: a 400. */
  | { readonly kind: 'refused'; readonly error: string }
  /** The client asked for `ct=application/dns-message`: the reply leaves as it is. Null: a 400. */
  | { readonly kind: 'message'; readonly reply: Uint8Array | null }
  /** `reply` is the DNS message that `document` renders; its TTLs decide how long HTTP caches may keep the document. */
  | { readonly kind: 'document'; readonly document: object; readonly reply: Uint8Array }
  /** The reply is not a DNS message: a 500. */
  | { readonly kind: 'unreadable' };

/**
 * `GET /resolve`, which `edge/query` implements.
 *
 * @param ask asks one DNS query over the transport that the request came on; null: not a query
 */
export type JsonApi = (
  params: URLSearchParams,
  ask: (query: Uint8Array) => Uint8Array | null | Promise<Uint8Array | null>,
) => JsonResult | Promise<JsonResult>;
