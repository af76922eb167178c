/** What one HTTP/2 connection may cost. Octets, unless the name says otherwise. */

export interface Http2Limits {
  /** Concurrent streams. */
  readonly streams: number;
  /** A request body. */
  readonly body: number;
  /** Milliseconds for a request, a frame or a header block to arrive whole, and for a full write buffer to empty. */
  readonly requestMs: number;
  /** Milliseconds without a request after which a connection is closed, and for a reply to be taken. */
  readonly idleMs: number;
}

/** SETTINGS_HEADER_TABLE_SIZE: the protocol's default. */
export const TABLE_OCTETS = 4096;
/** SETTINGS_MAX_HEADER_LIST_SIZE. Room for the longest DNS message in a target, so that one who sends it is told 414,
 * which says more than 431. */
export const HEADER_LIST_OCTETS = 65_536;
/** Fields of one header list. */
export const HEADER_FIELDS = 64;
/** A header block as sent, with all its CONTINUATION frames; more ends the connection, for it has to be decoded or the
 * table is lost (RFC 7541 §2.2). */
export const BLOCK_OCTETS = 65_536;
/** CONTINUATION frames of one block (CVE-2024-27316). */
export const CONTINUATIONS = 64;
/** Request bodies of one connection, gathered but not yet handled. */
export const CONNECTION_WINDOW = 262_144;
/** Replies of one connection that wait for its windows; the one that would go beyond is cut off. */
export const HELD_OCTETS = 1_048_576;
/** Frames made but not taken by the socket, above which no further frame is read. */
export const OUTPUT_OCTETS = 65_536;
/** Requests answered in one turn of the event loop, so that one busy peer does not hold up the others. */
export const REQUESTS_A_TURN = 128;
/** Ids of streams that we reset, remembered because frames to them are still under way (RFC 9113 §5.1). */
export const RESETS_REMEMBERED = 512;
/** Work begun for streams that their peer has reset meanwhile counts against this many times the streams. */
export const WORK_FACTOR = 2;

/** Resets, the peer's (CVE-2023-44487) and those that it makes us send (CVE-2025-8671): a burst, and a second after that. */
export const RESETS = { burst: 400, perSecond: 40 } as const;
/**
 * Frames that bring no request forward: PING, SETTINGS, PRIORITY, WINDOW_UPDATE, unknown ones, CONTINUATION, DATA with hardly
 * anything in it (CVE-2019-9511 to 9518). Each request earns some: clients that give window back for every reply are no attackers.
 */
export const OVERHEAD = { burst: 1024, perSecond: 128, perRequest: 4 } as const;
/** The time between a first and a last GOAWAY when the peer does not answer the PING between them, milliseconds. */
export const GOAWAY_MS = 500;
/**
 * How long the rest of a request may still arrive after its reply, milliseconds. Then RST_STREAM(NO_ERROR) stops it (RFC 9113
 * §8.1). A reset that follows the reply at once makes some clients lose the reply.
 */
export const EARLY_MS = 1000;

/** Deadlines are checked this many times within the shortest of them. */
const SWEEPS = 4;

/** Milliseconds between two checks of the deadlines. */
export function sweepMs({ requestMs, idleMs }: Http2Limits): number {
  return Math.max(10, Math.min(requestMs, idleMs) / SWEEPS);
}
/** DATA of less than this, and not the last, counts as overhead. */
export const SMALL_DATA = 16;
