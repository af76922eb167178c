import { HEADER_FIELDS, HELD_OCTETS, OVERHEAD, RESETS } from '../http2/limits.ts';

/**
 * Abuse limits of a `node:http2` session, set to the values of this project's HTTP/2 where Node has an option for them.
 * Beyond each of them Node ends the connection with GOAWAY. A flood of PING or SETTINGS frames ends it too: nghttp2 keeps at
 * most 1,000 unsent acknowledgements. CONTINUATION frames count against the header list.
 */
export const NODE_ABUSE_LIMITS = {
  /** Memory of one session in megabytes (10^6 octets): headers, bodies and unsent frames. Beyond it streams are refused. */
  maxSessionMemory: Math.ceil((2 * HELD_OCTETS) / 1e6),
  /** Header fields of one request. Above HEADER_FIELDS the reply is a 431; above this the stream is reset. */
  maxHeaderListPairs: 4 * HEADER_FIELDS,
  /** Entries of one SETTINGS frame. */
  maxSettings: 32,
  maxOutstandingSettings: 4,
  /** Rapid reset (CVE-2023-44487): resets that the peer may send at once, and a second. The session counts them first, at half. */
  streamResetBurst: 2 * RESETS.burst,
  streamResetRate: 2 * RESETS.perSecond,
  /** Streams that the server refuses before it ends the connection. */
  maxSessionRejectedStreams: RESETS.burst,
  /** Frames with faults that do not end the connection by themselves. */
  maxSessionInvalidFrames: OVERHEAD.burst,
} as const;
