import type { Transport } from '../../base/network/transport.ts';

/** Number of shares in which questions wait for a signature, or ask for data of providers. One source uses one share. */
export const QUEUE_SHARES = 64;

/**
 * Queries answered past the packet cache in one turn of the event loop, by each listener: 1 ms of signatures. A batch over UDP holds 64: four turns answer
 * one of misses, and hits are read in between.
 */
export const MISSES_A_TURN = 16;

/** Answers queries. It knows the transport and never the peer's address. No method throws or rejects. */
export interface PacketHandler {
  /** Copies the cached reply to `request[0..length)` into `out`. @returns its octets; 0: not cached, call `slow` */
  hot(request: Uint8Array, length: number, transport: Transport, out: Buffer): number;
  /**
   * Whether a signed answer to `request[0..length)`, which is not cached, has to wait for a signature that its name's share has not left: an unproven
   * peer over UDP then gets TC. Told from the octets, so that a flood is neither queued nor decoded; false where they do not tell.
   */
  isSpent(request: Uint8Array, length: number): boolean;
  /**
   * Answers any query; synchronous unless a service has to wait. Copy the reply before changing it: the cache shares it.
   * @param proven the peer receives at its address: it sent a valid server cookie (RFC 7873) or opened a stream
   * @param share of the source, 0 (default) to QUEUE_SHARES - 1; see `queueShare`
   * @returns the reply, or null: the request is no query and gets no reply (RFC 8906)
   */
  slow(
    request: Uint8Array,
    transport: Transport,
    proven: boolean,
    share?: number,
  ): Uint8Array | null | Promise<Uint8Array | null>;
  /**
   * Whose the name asked in `request[0..length)` is, for a queue in which names have equal rights: 0 to NAME_SHARES - 1. It depends on what the answer
   * shows to whoever asks, and so tells nothing else (`query/name-shares.ts`). Not free: ask only where questions wait.
   */
  nameShare(request: Uint8Array, length: number): number;
}

/** Who asks what is answered now: twice its share, plus 1 where its address may be forged. Set before services are called. */
export interface AskerNow {
  share: number;
}

/** The result of a JSON API request. */
export type JsonResult =
  /** A parameter is wrong: 400. */
  | { readonly kind: 'refused'; readonly error: string }
  /** For `ct=application/dns-message`: the DNS message itself. Null: 400. */
  | { readonly kind: 'message'; readonly reply: Uint8Array | null }
  /** `reply` is the DNS message that `document` shows; its TTLs set the HTTP cache time. */
  | { readonly kind: 'document'; readonly document: object; readonly reply: Uint8Array }
  /** The reply is not a DNS message: 500. */
  | { readonly kind: 'unreadable' };

/** `GET /resolve`. @param ask sends one DNS query over the transport of the request; null: not a query */
export type JsonApi = (
  params: URLSearchParams,
  ask: (query: Uint8Array) => Uint8Array | null | Promise<Uint8Array | null>,
) => JsonResult | Promise<JsonResult>;
