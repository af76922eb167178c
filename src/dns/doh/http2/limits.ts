/** Limits of one HTTP/2 connection, in octets unless the name says otherwise. */

export interface Http2Limits {
  /** Concurrent streams. */
  readonly streams: number;
  /** A request body. */
  readonly body: number;
  /** Milliseconds for a request, a frame or a header block to arrive whole, and for a full write buffer to empty. */
  readonly requestMs: number;
  /** Milliseconds without a request before a connection closes, and for a reply to be taken. */
  readonly idleMs: number;
}

/** SETTINGS_HEADER_TABLE_SIZE: the protocol's default. */
export const TABLE_OCTETS = 4096;
/** SETTINGS_MAX_HEADER_LIST_SIZE: enough for the longest DNS message in a target, so that more gets a 414 and not a 431. */
export const HEADER_LIST_OCTETS = 65_536;
/** Fields of one header list. */
export const HEADER_FIELDS = 64;
/** A block with its CONTINUATION frames; more ends the connection: without decoding, the table is lost (RFC 7541 §2.2). */
export const BLOCK_OCTETS = 65_536;
/** CONTINUATION frames of one block (CVE-2024-27316). */
export const CONTINUATIONS = 64;
/** Request bodies of one connection that are not handled yet. */
export const CONNECTION_WINDOW = 262_144;
/** Replies of one connection that wait for its windows; a reply beyond this is cut off. */
export const HELD_OCTETS = 1_048_576;
/** Unsent octets above which no further frame is read. */
export const OUTPUT_OCTETS = 65_536;
/** Unread octets above which nothing more is read before the turn of the connection. */
export const INPUT_OCTETS = 65_536;
/** Requests answered in one tick, `MISSES_A_TURN` of them past the packet cache, so that one busy peer does not delay the others. */
export const REQUESTS_A_TURN = 128;
/** Remembered ids of streams that the server reset: frames to them are still in transit (RFC 9113 §5.1). */
export const RESETS_REMEMBERED = 512;
/** Unfinished answers of reset streams count against this many times the streams. */
export const WORK_FACTOR = 2;

/** Resets by the peer (CVE-2023-44487) and provoked ones (CVE-2025-8671): burst, and rate per second. */
export const RESETS = { burst: 400, perSecond: 40 } as const;
/**
 * Frames without progress (CVE-2019-9511 to 9518): PING, SETTINGS, PRIORITY, WINDOW_UPDATE, CONTINUATION, unknown, small DATA.
 * Each request allows some more: ordinary clients send WINDOW_UPDATE for every reply.
 */
export const OVERHEAD = { burst: 1024, perSecond: 128, perRequest: 4 } as const;
/** Bodies in a row that did not end in time, or were reset, after which the connection ends. A whole request begins a new row. */
export const UNFINISHED_BODIES = 2;
/** Milliseconds between first and last GOAWAY if the peer does not answer the PING. */
export const GOAWAY_MS = 500;
/** Milliseconds for the rest of a request after its reply, then RST_STREAM(NO_ERROR). An earlier reset loses some replies. */
export const EARLY_MS = 1000;
/** DATA of less than this, and not the last, counts as overhead. */
export const SMALL_DATA = 16;

/** Limits how often a peer may do something: a burst, and a rate per second. */
export class AbuseCounter {
  readonly #burst: number;
  readonly #perSecond: number;
  #left: number;
  #at: number;

  /** @param now milliseconds, the clock of `spend` */
  constructor({ burst, perSecond }: { readonly burst: number; readonly perSecond: number }, now: number) {
    this.#burst = burst;
    this.#perSecond = perSecond;
    this.#left = burst;
    this.#at = now;
  }

  /** @returns whether the limit allows it */
  spend(now: number, amount = 1): boolean {
    if (now !== this.#at) {
      this.earn((Math.max(0, now - this.#at) * this.#perSecond) / 1000);
      this.#at = now;
    }
    this.#left -= amount;
    return this.#left >= 0;
  }

  earn(amount: number): void {
    this.#left = Math.min(this.#burst, this.#left + amount);
  }
}
